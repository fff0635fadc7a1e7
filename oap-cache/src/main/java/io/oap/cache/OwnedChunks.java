package io.oap.cache;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorException;
import io.oap.common.ChunkKey;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Chunks that no file has: each has one owner, who puts it and lets it go. Until then it is pinned,
 * so that neither eviction nor {@code clear} nor a smaller pool takes it away. They count to what
 * may stay of the pool, beside pinned tables. Thread-safe.
 *
 * <p>Chunks stay readable when a disk has lost what was written to the pool, and nobody knows which
 * ones. From then on, or once any of them was found damaged, they are {@linkplain #areInDoubt in
 * doubt}: owners compute anew what is not {@linkplain OwnedChunk#isSound sound}.
 */
public final class OwnedChunks {
  private final ColumnPool pool;
  private final ChunkCache chunks;
  private volatile boolean isDamaged;

  OwnedChunks(ColumnPool pool, ChunkCache chunks) {
    this.pool = pool;
    this.chunks = chunks;
  }

  /**
   * Puts a vector chunk into the pool for the caller.
   *
   * @param key that nobody else has used
   * @param encoder finished
   * @param bytes its length
   * @return to be closed by its owner; null where the pool has no room for it, or as much stays as
   *     may
   */
  public OwnedChunk put(ChunkKey key, VectorEncoder encoder, long bytes) {
    return put(key, bytes, encoder::write);
  }

  /**
   * Puts bytes into the pool for the caller, as {@link #put(ChunkKey, VectorEncoder, long)} does a
   * vector chunk.
   *
   * @param from whose remaining bytes are meant; its position stays
   */
  public OwnedChunk put(ChunkKey key, ByteBuffer from) {
    return put(key, from.remaining(), room -> room.fill(from));
  }

  private OwnedChunk put(ChunkKey key, long bytes, Consumer<Reservation> fill) {
    if (chunks.fault() != null || !chunks.pinned.own(bytes)) {
      return null;
    }
    OwnedChunk put = null;
    try (Reservation room = chunks.leaving.reserve(key, bytes, Admission.EVICTING, 0)) {
      if (room.outcome() == Reservation.Outcome.RESERVED) {
        fill.accept(room);
        room.setNote(Checksum.of(room));
        put = new OwnedChunk(this, key, room);
      }
    } catch (VectorException e) {
      return null; // no fault of the pool
    } catch (RuntimeException | LinkageError e) {
      chunks.switchOff(e);
    } finally {
      if (put == null) {
        chunks.pinned.disown(bytes);
      }
    }
    return put;
  }

  /** Bytes of the chunks that owners have. */
  public long bytes() {
    return chunks.pinned.ownedBytes();
  }

  /** Whether the pool may have changed chunks: a disk has lost writes, or one was damaged. */
  public boolean areInDoubt() {
    return isDamaged || pool.hasLostWrites();
  }

  /** Has all chunks be in doubt from now on, since one of them cannot be right. */
  public void doubt() {
    isDamaged = true;
  }

  /** A chunk in the hands of its owner. Threads may share it. */
  public static final class OwnedChunk implements AutoCloseable {
    private final OwnedChunks all;
    private final ChunkKey key;
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private final Pin pin;

    private OwnedChunk(OwnedChunks all, ChunkKey key, Reservation room) {
      this.all = all;
      this.key = key;
      pin = room.publish();
    }

    /** Length of the chunk. */
    public long bytes() {
      return pin.bytes();
    }

    /** Whether the chunk's bytes may have changed, so that a copy is to be read instead of them. */
    public boolean isInDoubt() {
      return all.areInDoubt();
    }

    /** Whether the chunk has the bytes it was put with; reads all of them. */
    public boolean isSound() {
      return Checksum.isRight(pin);
    }

    /**
     * Opens a vector chunk for one thread, which closes it before this is closed.
     *
     * @throws DamagedChunkException when the bytes are no vector chunk; all are in doubt then
     */
    public VectorChunk open() {
      try {
        return VectorChunk.open(pin);
      } catch (VectorException e) {
        throw e.isCorrupt() ? damaged() : e;
      }
    }

    /**
     * The chunk's bytes.
     *
     * @throws DamagedChunkException when they are not those it was put with; all are in doubt then
     */
    public byte[] copy() {
      ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(pin.bytes()));
      pin.copyTo(copy);
      if (pin.note() != Checksum.of(copy.flip())) {
        throw damaged();
      }
      return copy.array();
    }

    private DamagedChunkException damaged() {
      all.doubt();
      return new DamagedChunkException();
    }

    /** Gives the chunk's memory back to the pool. Closing again does nothing. */
    @Override
    public void close() {
      if (isClosed.compareAndSet(false, true)) {
        try {
          all.pool.drop(key);
        } finally {
          all.chunks.pinned.disown(pin.bytes());
          all.chunks.unpin(pin);
        }
      }
    }
  }
}
