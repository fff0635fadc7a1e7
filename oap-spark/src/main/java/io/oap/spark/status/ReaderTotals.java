package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.oap.cache.stats.CacheCounters;
import java.io.Serializable;

/**
 * What the readers of one process, or of several together, have counted; see {@link CacheCounters}.
 *
 * @param hits column chunks found in the pool
 * @param misses column chunks loaded into it
 * @param bypasses column chunks read around it
 * @param bytesFromPool bytes taken from it
 * @param bytesFromFile bytes read from files
 * @param loadNanos time that tasks spent reading files, together
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ReaderTotals(
    long hits, long misses, long bypasses, long bytesFromPool, long bytesFromFile, long loadNanos)
    implements Serializable {
  static final ReaderTotals NONE = new ReaderTotals(0, 0, 0, 0, 0, 0);

  public static ReaderTotals of(CacheCounters counters) {
    return new ReaderTotals(
        counters.chunksHit(),
        counters.chunksMissed(),
        counters.chunksBypassed(),
        counters.bytesFromPool(),
        counters.bytesFromFile(),
        counters.loadNanos());
  }

  public ReaderTotals plus(ReaderTotals other) {
    return new ReaderTotals(
        hits + other.hits,
        misses + other.misses,
        bypasses + other.bypasses,
        bytesFromPool + other.bytesFromPool,
        bytesFromFile + other.bytesFromFile,
        loadNanos + other.loadNanos);
  }

  public ReaderTotals minus(ReaderTotals other) {
    return new ReaderTotals(
        hits - other.hits,
        misses - other.misses,
        bypasses - other.bypasses,
        bytesFromPool - other.bytesFromPool,
        bytesFromFile - other.bytesFromFile,
        loadNanos - other.loadNanos);
  }

  /** Millions of bytes for each second that a task spent reading files; null before it has. */
  public Double loadRate() {
    return loadNanos > 0 ? bytesFromFile * 1000.0 / loadNanos : null;
  }

  /** Part of the column chunks asked for that were in the pool, 0 to 1; null before any was. */
  public Double hitRatio() {
    long asked = hits + misses + bypasses;
    return asked > 0 ? (double) hits / asked : null;
  }
}
