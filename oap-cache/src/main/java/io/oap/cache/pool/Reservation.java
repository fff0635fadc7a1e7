package io.oap.cache.pool;

import java.nio.ByteBuffer;

/**
 * The answer to {@link ColumnPool#reserve}: memory for a chunk that is to be loaded, or why there
 * is none. For use by one thread at a time.
 *
 * <pre>{@code
 * try (Reservation reservation = pool.reserve(key, bytes)) {
 *   if (reservation.outcome() == Reservation.Outcome.RESERVED) {
 *     // fill reservation.piece(0) to reservation.piece(reservation.pieces() - 1)
 *     return reservation.publish();
 *   }
 * }
 * }</pre>
 */
public final class Reservation extends ChunkHandle implements AutoCloseable {

  /** What came of asking for memory. */
  public enum Outcome {
    /** There is memory: fill it and publish. */
    RESERVED,
    /** The chunk is published already: pin it. */
    PRESENT,
    /** Somebody else has reserved it and not yet published or given up. */
    LOADING,
    /**
     * Pinned chunks leave no room, or there is none free where nothing may be evicted. Nothing was
     * evicted.
     */
    NO_ROOM,
    /** The pool takes nothing any more: it is closed, or a disk has lost what was written to it. */
    SHUT,
    /** Larger than the pool can ever hold. Nothing was evicted. */
    TOO_LARGE;

    static Outcome refusal(int error) {
      return switch (error) {
        case Errno.EEXIST -> PRESENT;
        case Errno.EINPROGRESS -> LOADING;
        case Errno.EFBIG -> TOO_LARGE;
        case Errno.ENOSPC -> NO_ROOM;
        case Errno.ESHUTDOWN -> SHUT;
        default -> throw PoolException.defect("reserve", error);
      };
    }
  }

  private final Outcome outcome;

  Reservation(ColumnPool pool, ChunkStruct memory) {
    super(pool, memory);
    outcome = Outcome.RESERVED;
  }

  /** What native code has just reserved; it ends where the heap has no room for an object. */
  static Reservation of(ColumnPool pool, ChunkStruct memory) {
    try {
      return new Reservation(pool, memory);
    } catch (Throwable e) {
      pool.abandon(memory.slotAndGeneration(), memory.shard(), memory.bytes());
      throw e;
    }
  }

  Reservation(Outcome refusal) {
    super();
    outcome = refusal;
  }

  /** What came of asking; never changes. */
  public Outcome outcome() {
    return outcome;
  }

  /**
   * In how many pieces the memory lies, 1 to 4.
   *
   * @throws IllegalStateException when nothing was reserved
   */
  public int pieces() {
    if (outcome != Outcome.RESERVED) {
      throw new IllegalStateException("nothing was reserved: " + outcome);
    }
    return count();
  }

  /**
   * A new writable, direct, big-endian buffer over piece i, with undefined contents. Not to be
   * touched after {@link #publish()} or {@link #close()}.
   *
   * @throws IllegalStateException when nothing is reserved, or not any more
   */
  public ByteBuffer piece(int i) {
    return slice(i, pool == null ? null : pool.windows);
  }

  /**
   * Fills the memory from its first byte on with as many bytes as it has.
   *
   * @param from whose remaining bytes are meant; its position stays
   * @throws IllegalStateException when nothing is reserved, or not any more
   */
  public void fill(ByteBuffer from) {
    ByteBuffer rest = from.duplicate();
    for (int i = 0; i < pieces(); i++) {
      ByteBuffer piece = piece(i);
      int bytes = Math.min(piece.remaining(), rest.remaining());
      piece.put(rest.slice(rest.position(), bytes));
      rest.position(rest.position() + bytes);
    }
  }

  /**
   * Keeps a number with the chunk, for {@link Pin#note}; 0 unless it is set.
   *
   * @throws IllegalStateException when nothing is reserved, or not any more
   */
  public void setNote(long note) {
    if (hasEnded()) {
      throw new IllegalStateException("nothing is reserved");
    }
    pool.setNote(this, note);
  }

  /**
   * Makes the chunk visible to {@link ColumnPool#pin}, and pins it. All of the memory must have
   * been filled. If the chunk was dropped meanwhile, only this pin sees it.
   *
   * @throws IllegalStateException when nothing is reserved, or not any more
   */
  public Pin publish() {
    Pin pin = new Pin(this); // before the native pin is there that nobody else would end
    if (!end()) {
      throw new IllegalStateException(
          outcome == Outcome.RESERVED
              ? "published or abandoned already"
              : "nothing was reserved: " + outcome);
    }
    pool.publish(this);
    return pin;
  }

  /** Gives the memory back, unless the chunk was published. Further calls do nothing. */
  @Override
  public void close() {
    if (end()) {
      pool.abandon(slotAndGeneration, shard, length);
    }
  }
}
