package io.oap.cache;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.ChunkAccess;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorException;
import io.oap.common.ChunkKey;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The column chunks that a pool holds in their vector representation. Nothing here reads a file: a
 * vector chunk is made of values that a reader has decoded, and takes the place of the encoded one.
 * Thread-safe. A pool that fails is given up, as {@link ChunkCache} does it.
 */
public final class VectorChunks {

  /** Vector chunks remembered as refused: a few megabytes of heap. */
  private static final int REFUSED = 1 << 15;

  /** A vector chunk may be so many times as large as the encoded one when the pool is short. */
  private static final int MOST_GROWTH = 2;

  private final ColumnPool pool;
  private final ChunkCache chunks;
  private final Function<Pin, VectorChunk> open;
  private final Cache<ChunkKey, Boolean> refused =
      CacheBuilder.newBuilder().maximumSize(REFUSED).build();

  VectorChunks(ColumnPool pool, ChunkCache chunks) {
    this(pool, chunks, VectorChunk::open);
  }

  /**
   * @param open opens a chunk that is pinned, or says why not
   */
  VectorChunks(ColumnPool pool, ChunkCache chunks, Function<Pin, VectorChunk> open) {
    this.pool = pool;
    this.chunks = chunks;
    this.open = open;
  }

  /**
   * Pins a vector chunk if the pool, or the tier below it, holds it now, for the caller to close.
   * Else null.
   */
  public PinnedVector getIfHeld(ChunkKey key, ReadContext context) {
    Pin pin = chunks.pin(key);
    boolean wasHeld = pin != null;
    if (pin == null) {
      pin = takeFromTier(key, context);
    }
    if (pin == null) {
      return null;
    }
    VectorChunk chunk = null;
    PinnedVector held = null;
    try {
      chunk = open.apply(pin);
      chunks.onHit(key, pin.bytes(), context);
      ChunkAccess.record(key, pin.bytes(), wasHeld);
      held = new PinnedVector(key, pin, chunk, wasHeld, chunks);
      return held;
    } catch (VectorException e) {
      // Without it the reader takes the encoded chunk, and in time another one is made.
      if (e.isCorrupt()) {
        chunks.dropDamaged(key);
      }
      return null;
    } finally {
      if (held == null) {
        if (chunk != null) {
          chunk.close();
        }
        chunks.unpin(pin);
      }
    }
  }

  /** Loads a chunk from the tier below the pool, and pins it; null where it is not there. */
  private Pin takeFromTier(ChunkKey key, ReadContext context) {
    long bytes = chunks.fault() == null ? chunks.tier.find(key) : 0;
    // What the quota refuses is no miss here: the encoded chunk will be one, and is asked for next.
    if (bytes == 0 || !ChunkLoad.isWithinQuota(chunks, key, bytes, context)) {
      return null;
    }
    try (ChunkLoad load = chunks.begin(key, bytes, context)) {
      if (load.hasRoom()) {
        return load.publishFromTier();
      }
      load.awaitOthers(TimeUnit.MILLISECONDS.toNanos(chunks.loadTimeoutMillis));
      return chunks.pin(key);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  /** Drops a chunk if the pool holds it with other bytes than it was published with. */
  public void dropIfDamaged(ChunkKey key) {
    if (chunks.fault() != null) {
      return;
    }
    try (Pin pin = pool.pinUnused(key)) {
      if (pin != null && !Checksum.isRight(pin)) {
        chunks.dropDamaged(key);
      }
    } catch (RuntimeException | LinkageError e) {
      chunks.switchOff(e);
    }
  }

  /**
   * Counts a vector chunk that a reader has taken as asked for.
   *
   * @param encodedBytes length of the encoded chunk
   */
  public void recordAsk(ChunkKey key, PinnedVector held, long encodedBytes, ReadContext context) {
    chunks.recordAsk(key, held.bytes(), encodedBytes, held.wasHeld(), context.admission());
  }

  /**
   * Whether a reader should make the vector chunk of what it decodes.
   *
   * @param vector key of the vector chunk
   */
  public boolean isWanted(ChunkKey vector) {
    return chunks.fault() == null
        && refused.getIfPresent(vector) == null
        && chunks.quotas.isPlaced(
            ChunkKey.encoded(vector.file(), vector.rowGroup(), vector.column()));
  }

  /** Remembers that a reader cannot make this vector chunk, now or later. */
  public void refuse(ChunkKey vector) {
    refused.put(vector, Boolean.TRUE);
  }

  /**
   * Whether a chunk need not be read from its file: it is held, or can come from the tier below.
   */
  public boolean isHeldInTiers(ChunkKey key, ReadContext context) {
    if (chunks.isHeld(key)) {
      return true;
    }
    long bytes = chunks.fault() == null ? chunks.tier.find(key) : 0;
    return bytes != 0 && ChunkLoad.wouldBeAdmitted(chunks, key, bytes, context);
  }

  /** Whether the pool holds a chunk, in the representation that its key says. */
  public boolean isHeld(ChunkKey key) {
    return chunks.isHeld(key);
  }

  /**
   * Puts a vector chunk into the pool, in place of the encoded one.
   *
   * @param encoder with all rows of the chunk added
   * @param encodedBytes length of the encoded chunk
   */
  public void put(
      ChunkKey vector,
      VectorEncoder encoder,
      ChunkKey encoded,
      long encodedBytes,
      ReadContext context) {
    if (chunks.fault() != null) {
      return;
    }
    try {
      long bytes = encoder.finish();
      if (bytes > MOST_GROWTH * encodedBytes && bytes > free()) {
        refuse(vector);
        return;
      }
      try (ChunkLoad load =
          new ChunkLoad(chunks, vector, bytes, encoded, encodedBytes, 0, context)) {
        if (load.hasRoom()) {
          encoder.write(load.room());
          load.publish(Checksum.of(load.room()));
        }
      }
    } catch (VectorException e) {
      refuse(vector);
    } catch (RuntimeException | LinkageError e) {
      chunks.switchOff(e);
    }
  }

  /** Bytes of the pool that no chunk has. */
  private long free() {
    PoolStats stats = pool.stats();
    return stats.capacityBytes() - stats.usedBytes();
  }
}
