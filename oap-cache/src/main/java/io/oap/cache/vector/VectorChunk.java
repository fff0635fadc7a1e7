package io.oap.cache.vector;

import io.oap.cache.pool.Pin;
import java.lang.ref.Reference;
import java.util.Objects;

/**
 * A vector chunk, read in place, or rows that are to be filtered like one: the Java face of
 * native/include/oap_vector.h. For use by one thread at a time; any number of these may be opened
 * over one chunk.
 *
 * <p>Memory is named by its address ({@link NativeBuffer}, or any other off-heap memory), and
 * nothing checks that there is as much behind it as these methods say they need. A selection is
 * ascending row numbers within a zone, two bytes each; the address 0 stands for all rows of the
 * zone, and the count is ignored then. Numbers are in native byte order and aligned to their size.
 *
 * <p>Methods throw {@link IndexOutOfBoundsException} for a zone that there is not, {@link
 * IllegalStateException} after {@link #close}, and {@link VectorException} when the kind is not
 * theirs, the chunk is corrupt or memory has run out.
 */
public final class VectorChunk implements AutoCloseable {

  /** Rows of every zone but the last, which may have less. */
  public static final int ZONE_ROWS = 4096;

  private final VectorKind kind;
  private int rows;
  private int zones;
  private final int dictionaryEntries;
  private long chunk;
  private Object reader;

  private VectorChunk(long chunk) {
    this.chunk = chunk;
    kind = VectorKind.of(NativeVector.kind(chunk));
    countRows();
    dictionaryEntries = NativeVector.dictionaryEntries(chunk);
  }

  /**
   * Opens a chunk.
   *
   * @param pin to be closed by the caller, after this
   * @throws VectorException with {@link VectorException#isCorrupt} when the bytes are no vector
   *     chunk
   */
  public static VectorChunk open(Pin pin) {
    VectorException.ensureLoaded();
    return new VectorChunk(VectorException.check(NativeVector.open(VectorPieces.of(pin))));
  }

  /**
   * Opens a chunk that lies outside the pool.
   *
   * @param memory begins with the chunk, and stays reachable and as it is until this is closed
   * @param bytes length of the chunk
   * @throws VectorException as the other one
   */
  public static VectorChunk open(NativeBuffer memory, long bytes) {
    return new VectorChunk(
        VectorException.check(NativeVector.open(VectorPieces.of(memory, bytes))));
  }

  private void countRows() {
    rows = NativeVector.rows(chunk);
    zones = (int) (((long) rows + ZONE_ROWS - 1) / ZONE_ROWS);
  }

  /**
   * One that is no chunk of the pool: its only zone are rows that were decoded elsewhere, to be
   * given with {@link #setDecoded}, so that they can be filtered as those of chunks are.
   *
   * @throws VectorException when the kind is {@link VectorKind#BYTES}, there is no memory or no
   *     native library
   */
  public static VectorChunk ofDecoded(VectorKind kind) {
    VectorException.ensureLoaded();
    return new VectorChunk(VectorException.check(NativeVector.openDecoded(kind.number())));
  }

  /**
   * Takes a copy of rows, which are zone 0 from now on. Of their minimum and maximum nothing is
   * known.
   *
   * @param values address of the values, as for {@link VectorEncoder#add}
   * @param nulls address of a byte per row, not 0 where the row is null; 0 when no row is
   * @param count 1 to {@link #ZONE_ROWS}
   * @throws VectorException when there are too many rows, or this is a chunk of the pool
   */
  public void setDecoded(long values, long nulls, int count) {
    VectorException.check(NativeVector.setDecoded(open(), values, nulls, count));
    countRows();
  }

  /** What its values are. */
  public VectorKind kind() {
    return kind;
  }

  /** Rows in all zones. */
  public int rows() {
    return rows;
  }

  /** How many zones there are. */
  public int zones() {
    return zones;
  }

  /** Rows of a zone. */
  public int rows(int zone) {
    Objects.checkIndex(zone, zones);
    return zone < zones - 1 ? ZONE_ROWS : rows - zone * ZONE_ROWS;
  }

  /** How many rows of the zone are null. */
  public int nulls(int zone) {
    return NativeVector.zoneNulls(open(zone), zone);
  }

  /**
   * The least value of the zone that is not null: integers as they are; floating-point numbers as
   * the bits of a double, in Spark's order, where NaN is the greatest and -0.0 equals 0.0; {@link
   * VectorKind#BYTES} as the first 8 bytes, padded with zeros, as an unsigned big-endian number. 0
   * when all rows are null.
   */
  public long minimum(int zone) {
    return NativeVector.zoneMinimum(open(zone), zone);
  }

  /** The greatest one, likewise. */
  public long maximum(int zone) {
    return NativeVector.zoneMaximum(open(zone), zone);
  }

  /** How the zone is encoded. */
  public VectorEncoding encoding(int zone) {
    return VectorEncoding.of(NativeVector.zoneEncoding(open(zone), zone));
  }

  /** Bits of a packed value; 0 where nothing is packed. */
  public int width(int zone) {
    return NativeVector.zoneWidth(open(zone), zone);
  }

  /** Bytes of the zone's nulls and values. */
  public long bytes(int zone) {
    return NativeVector.zoneBytes(open(zone), zone);
  }

  /**
   * Puts the selected rows of a fixed-width zone one behind the other. To put several zones into
   * one batch, give addresses inside of it.
   *
   * @param selection address of row numbers, or 0 for all rows
   * @param values where count values of the kind's width go; that of a null row is any
   * @param nulls where count bytes go, 1 where the row is null, else 0; or 0 for none
   * @return how many of the rows are null
   */
  public int unpack(int zone, long selection, int count, long values, long nulls) {
    return VectorException.check(
        NativeVector.unpack(open(zone), zone, selection, count, values, nulls));
  }

  /**
   * Unpacks {@link VectorKind#BYTES}: tells where the values lie. They are good until this is
   * closed, or longer, see {@link #closeAfter}; what an address of a null row points to may be
   * read.
   *
   * @param addresses where count addresses of 8 bytes go
   * @param lengths where count lengths of 4 bytes go
   */
  public int unpackBytes(
      int zone, long selection, int count, long addresses, long lengths, long nulls) {
    return VectorException.check(
        NativeVector.unpackBytes(open(zone), zone, selection, count, addresses, lengths, nulls));
  }

  /** Entries of the chunk's dictionary, at most 65,536; 0 when it has none. */
  public int dictionaryEntries() {
    return dictionaryEntries;
  }

  /** Whether the zone's values are codes of the dictionary. */
  public boolean hasCodes(int zone) {
    return NativeVector.hasCodes(open(zone), zone);
  }

  /** Puts the entries of the dictionary to values, in the order of their codes. */
  public void dictionary(long values) {
    VectorException.check(NativeVector.dictionary(open(), values));
  }

  /** Gives the entries of a {@link VectorKind#BYTES} dictionary, as {@link #unpackBytes} does. */
  public void dictionaryBytes(long addresses, long lengths) {
    VectorException.check(NativeVector.dictionaryBytes(open(), addresses, lengths));
  }

  /** Whether rows of an integer zone are in the set, as far as its minimum and maximum tell. */
  public ZoneDecision decideIn(int zone, KeySet keys) {
    int decision = NativeVector.decideIn(open(zone), zone, keys.address());
    Reference.reachabilityFence(keys);
    return ZoneDecision.of(VectorException.check(decision));
  }

  /** Whether rows of an integer zone are between two values, both included. */
  public ZoneDecision decideRange(int zone, long low, long high) {
    return ZoneDecision.of(
        VectorException.check(NativeVector.decideRange(open(zone), zone, low, high)));
  }

  /** Whether rows of a floating-point zone are in a range; see {@link #selectDoubles}. */
  public ZoneDecision decideDoubles(
      int zone, double low, boolean lowIsOpen, double high, boolean highIsOpen) {
    return ZoneDecision.of(
        VectorException.check(
            NativeVector.decideDoubles(open(zone), zone, low, lowIsOpen, high, highIsOpen)));
  }

  /**
   * Whether rows of a {@link VectorKind#BYTES} zone begin with 8 bytes, as in {@link #minimum},
   * that lie between two unsigned numbers, both included. For an equality or a range of whole
   * values, {@link ZoneDecision#ALL} therefore means no more than {@link ZoneDecision#SOME}.
   */
  public ZoneDecision decidePrefix(int zone, long low, long high) {
    return ZoneDecision.of(
        VectorException.check(NativeVector.decidePrefix(open(zone), zone, low, high)));
  }

  /**
   * Which of the selected rows of an integer zone are in the set. Rows that are null never match.
   * Decides by minimum and maximum first.
   *
   * @param selection address of row numbers, or 0 for all rows
   * @param out where as many row numbers as are selected have room; may be selection
   * @return how many row numbers were written
   */
  public int selectIn(int zone, KeySet keys, long selection, int count, long out) {
    int found = NativeVector.selectIn(open(zone), zone, keys.address(), selection, count, out);
    Reference.reachabilityFence(keys);
    return VectorException.check(found);
  }

  /** Selects rows between two values, both included; none when low is above high. */
  public int selectRange(int zone, long low, long high, long selection, int count, long out) {
    return VectorException.check(
        NativeVector.selectRange(open(zone), zone, low, high, selection, count, out));
  }

  /**
   * Selects rows of a floating-point zone in a range, in Spark's order: NaN is the greatest value
   * and equals itself, -0.0 equals 0.0. So everything is from negative infinity to NaN, and {@code
   * x > 1} is from 1, open, to NaN. Bounds of a float column are given as doubles.
   */
  public int selectDoubles(
      int zone,
      double low,
      boolean lowIsOpen,
      double high,
      boolean highIsOpen,
      long selection,
      int count,
      long out) {
    return VectorException.check(
        NativeVector.selectDoubles(
            open(zone), zone, low, lowIsOpen, high, highIsOpen, selection, count, out));
  }

  /**
   * Selects rows whose dictionary entry matches, where {@link #hasCodes}; any kind.
   *
   * @param matches address of a byte per entry of the dictionary, not 0 where it matches
   */
  public int selectCodes(int zone, long matches, long selection, int count, long out) {
    return VectorException.check(
        NativeVector.selectCodes(open(zone), zone, matches, selection, count, out));
  }

  /** Selects rows that are null, or rows that are not; any kind. */
  public int selectNull(int zone, boolean isNull, long selection, int count, long out) {
    return VectorException.check(
        NativeVector.selectNull(open(zone), zone, isNull, selection, count, out));
  }

  private long open(int zone) {
    Objects.checkIndex(zone, zones);
    return open();
  }

  private long open() {
    if (chunk == 0) {
      throw new IllegalStateException("the chunk is closed");
    }
    return chunk;
  }

  /**
   * Lets {@link #close} leave this object's memory until nothing refers to a reader any more that
   * addresses were given to: another thread may be reading there. Of chunks that lie in several
   * pieces, some values stand in that memory.
   */
  public void closeAfter(Object reader) {
    this.reader = reader;
  }

  /** Gives this object's memory back; the pin stays. Further calls do nothing. */
  @Override
  public void close() {
    long address = chunk;
    chunk = 0;
    if (address != 0 && reader != null) {
      NativeVector.CLEANER.register(reader, () -> NativeVector.close(address));
    } else if (address != 0) {
      NativeVector.close(address);
    }
  }
}
