package io.oap.cache.pool;

import java.io.Serializable;

/**
 * Figures of a pool since it was opened, at one moment; exact when no other thread uses it. Of a
 * pool that processes share, capacityBytes, usedBytes and chunks are of all of it, all else is what
 * this process does there.
 *
 * @param capacityBytes bytes for chunks
 * @param usedBytes bytes that belong to chunks, with what rounding to 64 adds; more than the
 *     capacity while chunks are in use where the pool was before it shrank
 * @param pinnedBytes bytes of chunks that are pinned at least once, or reserved
 * @param pinnedChunks how many those are
 * @param chunks published and not dropped
 * @param hits calls of pin that found their chunk
 * @param misses calls of pin that did not
 * @param publishes chunks published
 * @param abandons reservations given back
 * @param evictions chunks removed to make room, or because the pool shrank
 * @param evictedBytes their bytes
 * @param drops chunks removed by drop and clear, or in use when the pool shrank
 * @param refusedPresent reservations answered PRESENT
 * @param refusedLoading reservations answered LOADING
 * @param refusedNoRoom reservations answered NO_ROOM
 * @param refusedTooLarge reservations answered TOO_LARGE
 * @param metadataBytes memory that the pool's own tables occupy
 * @param lostWrites how often a disk lost what was written to a pool in files; from the first time
 *     on the pool takes no chunks
 * @param damaged chunks of a former process whose bytes were wrong at their first pin
 * @param tier of the file tier below it
 */
public record PoolStats(
    long capacityBytes,
    long usedBytes,
    long pinnedBytes,
    long pinnedChunks,
    long chunks,
    long hits,
    long misses,
    long publishes,
    long abandons,
    long evictions,
    long evictedBytes,
    long drops,
    long refusedPresent,
    long refusedLoading,
    long refusedNoRoom,
    long refusedTooLarge,
    long metadataBytes,
    long lostWrites,
    long damaged,
    Tier tier)
    implements Serializable {

  /** How many figures there are; their order is that of oap_stats in native/. */
  static final int COUNT = 19;

  static PoolStats of(long[] f) {
    return new PoolStats(
        f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12], f[13],
        f[14], f[15], f[16], f[17], f[18], Tier.NONE);
  }

  /** These figures, with those of a tier. */
  public PoolStats with(Tier other) {
    return new PoolStats(
        capacityBytes,
        usedBytes,
        pinnedBytes,
        pinnedChunks,
        chunks,
        hits,
        misses,
        publishes,
        abandons,
        evictions,
        evictedBytes,
        drops,
        refusedPresent,
        refusedLoading,
        refusedNoRoom,
        refusedTooLarge,
        metadataBytes,
        lostWrites,
        damaged,
        other);
  }

  /**
   * Figures of a file tier since it was opened.
   *
   * @param capacityBytes bytes of its file; 0: there is none
   * @param heldBytes bytes of the chunks that it holds
   * @param chunks how many those are
   * @param hits chunks read from it
   * @param bytesRead their bytes
   * @param bytesWritten bytes written to the disk, what fills up blocks and what is written again
   *     included
   * @param errors reads and writes that failed, chunks that were not what was written
   * @param evictedSegments segments of 64 MiB that were written over
   * @param isOff 1 when it is not used any more, after many errors; else 0
   */
  public record Tier(
      long capacityBytes,
      long heldBytes,
      long chunks,
      long hits,
      long bytesRead,
      long bytesWritten,
      long errors,
      long evictedSegments,
      long isOff)
      implements Serializable {

    /** How many figures there are; their order is that of oap_tier_stats in native/. */
    public static final int COUNT = 9;

    static final Tier NONE = of(new long[COUNT]);

    /** Figures in their order. */
    public static Tier of(long[] f) {
      return new Tier(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]);
    }
  }
}
