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
 */
public final class OwnedChunks {
  private final ColumnPool pool;
  private final ChunkCache chunks;

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

    /** Opens a vector chunk for one thread, which closes it before this is closed. */
    public VectorChunk open() {
      return VectorChunk.open(pin);
    }

    /** The chunk's bytes. */
    public byte[] copy() {
      ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(pin.bytes()));
      pin.copyTo(copy);
      return copy.array();
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
