package io.oap.cache;

import io.oap.cache.pool.Admission;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import java.util.function.Predicate;

/**
 * What one reader says with each call.
 *
 * @param counters moved by what it reads
 * @param admission whether what it loads may enter the pool
 * @param keeps chunks that stay in the pool when it loads or finds them
 */
public record ReadContext(CacheCounters counters, Admission admission, Predicate<ChunkKey> keeps) {

  /** A reader whose chunks belong here, and that keeps none. */
  public ReadContext(CacheCounters counters) {
    this(counters, Admission.EVICTING, key -> false);
  }
}
