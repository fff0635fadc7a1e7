package io.oap.cache.vector;

import io.oap.cache.pool.Reservation;

/**
 * Makes a vector chunk out of the values of one column, zone by zone; the format is specified in
 * native/VECTOR-CHUNK.md. For use by one thread at a time.
 *
 * <pre>{@code
 * try (VectorEncoder encoder = new VectorEncoder(VectorKind.I32)) {
 *   while (...) {
 *     encoder.add(values, nulls, rows);
 *   }
 *   long bytes = encoder.finish();
 *   try (Reservation reservation = pool.reserve(key, bytes)) {
 *     if (reservation.outcome() == Reservation.Outcome.RESERVED) {
 *       encoder.write(reservation);
 *       return reservation.publish();
 *     }
 *   }
 * }
 * }</pre>
 */
public final class VectorEncoder implements AutoCloseable {

  private final VectorKind kind;
  private long encoder;

  /**
   * An encoder without zones.
   *
   * @throws VectorException when there is no memory or no native library
   */
  public VectorEncoder(VectorKind kind) {
    VectorException.ensureLoaded();
    this.kind = kind;
    this.encoder = VectorException.check(NativeVector.encoderOpen(kind.number()));
  }

  /** What values it takes. */
  public VectorKind kind() {
    return kind;
  }

  /**
   * Adds a zone of fixed-width values. Each zone has {@link VectorChunk#ZONE_ROWS} rows; the last
   * one may have less. After an exception this can only be closed.
   *
   * @param values address of the values, in native byte order, aligned to their width; read during
   *     the call only
   * @param nulls address of a byte per row, not 0 where the row is null; 0 when no row is
   * @param rows 1 to {@link VectorChunk#ZONE_ROWS}
   * @throws VectorException when rows is out of range, a short zone came before, or the kind is
   *     {@link VectorKind#BYTES}; {@link VectorException#isTooLarge} when there are too many rows
   */
  public void add(long values, long nulls, int rows) {
    VectorException.check(NativeVector.encoderAdd(open(), values, nulls, rows));
  }

  /**
   * Adds a zone of {@link VectorKind#BYTES}.
   *
   * @param addresses address of 8 bytes per row: where its value begins
   * @param lengths address of 4 bytes per row: how many bytes it has. Neither matters for a row
   *     that is null
   */
  public void addBytes(long addresses, long lengths, long nulls, int rows) {
    VectorException.check(NativeVector.encoderAddBytes(open(), addresses, lengths, nulls, rows));
  }

  /**
   * Adds a zone of any kind by the numbers of dictionary entries; otherwise as {@link #add}.
   *
   * @param ids address of 4 bytes per row: the number of its entry; anything where it is null
   * @return false, and then nothing was added, when the value of an entry is not known: {@link
   *     #learn} is to be called then, and the zone added by values
   */
  public boolean addIds(long ids, long nulls, int rows) {
    return VectorException.check(NativeVector.encoderAddIds(open(), ids, nulls, rows)) == 0;
  }

  /**
   * Says which numbers the rows have whose values are added next, so that that call learns what the
   * entries stand for; not for long where a dictionary has new entries in many zones.
   *
   * @param ids address as for {@link #addIds}, read by that call
   */
  public void learn(long ids) {
    NativeVector.encoderLearn(open(), ids);
  }

  /** Length of the chunk in bytes. Nothing can be added any more. */
  public long finish() {
    return VectorException.check(NativeVector.encoderFinish(open()));
  }

  /**
   * Writes the finished chunk.
   *
   * @param reservation of exactly as many bytes as {@link #finish} said
   * @throws VectorException when not finished, or the length is another
   */
  public void write(Reservation reservation) {
    VectorException.check(NativeVector.encoderWrite(open(), VectorPieces.of(reservation)));
  }

  /**
   * Writes the finished chunk to memory outside the pool, from its beginning.
   *
   * @param bytes what {@link #finish} said
   */
  public void write(NativeBuffer memory, long bytes) {
    VectorException.check(NativeVector.encoderWrite(open(), VectorPieces.of(memory, bytes)));
  }

  /** Native memory that this holds now, in bytes. */
  public long memory() {
    return NativeVector.encoderMemory(open());
  }

  private long open() {
    if (encoder == 0) {
      throw new IllegalStateException("the encoder is closed");
    }
    return encoder;
  }

  /** Gives its memory back. Further calls do nothing. */
  @Override
  public void close() {
    if (encoder != 0) {
      NativeVector.encoderClose(encoder);
      encoder = 0;
    }
  }
}
