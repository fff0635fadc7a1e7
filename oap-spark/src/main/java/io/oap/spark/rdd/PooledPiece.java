package io.oap.spark.rdd;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.JavaSerializer;
import io.oap.cache.DamagedChunkException;
import io.oap.cache.OwnedChunks.OwnedChunk;
import io.oap.spark.dataframe.ChunkOwner;
import java.io.Serializable;
import java.lang.ref.Cleaner;
import org.apache.spark.util.KnownSizeEstimation;

/**
 * Some elements of a partition, serialized: in the pool, or on the heap where that has no room.
 * Spark closes it when the block goes that it belongs to; where nobody closes it, its memory goes
 * when it is garbage. What leaves the process, or goes to a disk, has the bytes in it. Thread-safe.
 */
abstract class PooledPiece implements ChunkOwner, Serializable {
  private static final long serialVersionUID = 1;
  private static final Cleaner LEAKS = Cleaner.create();

  /** Of the objects of a piece without its bytes. */
  private static final long HEAP_BYTES = 400;

  private final transient Place place;
  private final transient Cleaner.Cleanable owner;

  private PooledPiece(Place place) {
    this.place = place;
    owner = LEAKS.register(this, place);
  }

  /** A piece in the pool, which owns the chunk from now on. */
  static PooledPiece of(OwnedChunk chunk) {
    return of(new Place(chunk, null), HEAP_BYTES);
  }

  /** A piece on the heap. */
  static PooledPiece of(byte[] bytes) {
    return of(new Place(null, bytes), HEAP_BYTES + bytes.length);
  }

  /** The way to tell Spark a size is its own, and scalac sees it in the signatures of Java, too. */
  private static PooledPiece of(Place place, long heapBytes) {
    @DefaultSerializer(JavaSerializer.class)
    final class Sized extends PooledPiece implements KnownSizeEstimation {
      private static final long serialVersionUID = 1;

      private Sized() {
        super(place);
      }

      @Override
      public long estimatedSize() {
        return heapBytes;
      }
    }
    return new Sized();
  }

  /**
   * The serialized elements; not to be written.
   *
   * @throws IllegalStateException where the piece was closed
   * @throws DamagedChunkException where they were damaged in the pool
   */
  byte[] bytes() {
    byte[] bytes = place.bytes();
    if (bytes.length == 0) {
      throw new DamagedChunkException();
    }
    return bytes;
  }

  @Override
  public boolean isSound() {
    return place.isSound();
  }

  @Override
  public void close() {
    owner.clean();
  }

  /** Java's serialization writes this; no bytes where they were damaged in the pool. */
  protected Object writeReplace() {
    try {
      return new Sent(place.bytes());
    } catch (DamagedChunkException e) {
      return new Sent(new byte[0]);
    }
  }

  /** A piece on its way. */
  private record Sent(byte[] bytes) implements Serializable {
    private Object readResolve() {
      return of(bytes);
    }
  }

  /** Where the bytes are. */
  private static final class Place implements Runnable {
    private OwnedChunk chunk;
    private byte[] heap;

    private Place(OwnedChunk chunk, byte[] heap) {
      this.chunk = chunk;
      this.heap = heap;
    }

    private synchronized byte[] bytes() {
      if (chunk == null && heap == null) {
        throw new IllegalStateException("the block of these elements was removed");
      }
      return chunk == null ? heap : chunk.copy();
    }

    private synchronized boolean isSound() {
      return chunk == null ? heap == null || heap.length > 0 : chunk.isSound();
    }

    /** Gives the memory back. */
    @Override
    public synchronized void run() {
      if (chunk != null) {
        chunk.close();
      }
      chunk = null;
      heap = null;
    }
  }
}
