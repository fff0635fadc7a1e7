package io.oap.cache;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.pool.Reservation;
import io.oap.cache.tier.FileTier;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.PoolTiers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file tier below the pool of a cache, or none. Thread-safe. */
final class LowerTier implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(LowerTier.class);

  static final LowerTier NONE = new LowerTier(null);

  /** Null where there is none. */
  private final FileTier tier;

  LowerTier(FileTier tier) {
    this.tier = tier;
  }

  /** Opens what a configuration describes. A tier that cannot be had is left out, and logged. */
  static LowerTier open(PoolTiers tiers, ColumnPool pool) {
    if (tiers.folder().isEmpty()) {
      return NONE;
    }
    try {
      return new LowerTier(FileTier.open(Path.of(tiers.folder()), tiers.fileBytes(), pool));
    } catch (IOException e) {
      LOG.warn("{}. The pool is opened without it.", e.getMessage());
      return NONE;
    }
  }

  /** The length of a chunk that it holds; 0 where it does not. */
  long find(ChunkKey key) {
    return tier == null ? 0 : tier.find(key);
  }

  /**
   * Fills the room for a chunk if the chunk is here and sound. One that was damaged in the pool
   * before it came down is dropped.
   *
   * @return its checksum, or nothing
   */
  OptionalLong fill(ChunkKey key, Reservation room) {
    // Most misses are none of the tier's: they need no buffers. It says here, too, if it is off.
    OptionalLong note = find(key) == 0 ? OptionalLong.empty() : tier.read(key, room);
    if (note.isPresent() && note.getAsLong() != Checksum.of(room)) {
      tier.drop(key);
      return OptionalLong.empty();
    }
    return note;
  }

  /** Takes note that a chunk has come into the pool, out of its file or made of what was there. */
  void onLoaded(ChunkKey key, boolean isFromFile) {
    if (tier != null && isFromFile) {
      tier.came(key);
    } else if (tier != null) {
      tier.wake();
    }
  }

  void drop(ChunkKey key) {
    if (tier != null) {
      tier.drop(key);
    }
  }

  void drop(FileId file) {
    if (tier != null) {
      tier.drop(file);
    }
  }

  void clear() {
    if (tier != null) {
      tier.clear();
    }
  }

  /** Adds its figures to those of the pool. */
  PoolStats addTo(PoolStats pool) {
    return tier == null ? pool : pool.with(tier.stats());
  }

  @Override
  public void close() {
    if (tier != null) {
      tier.close();
    }
  }
}
