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
 * @param warmed is told of the chunks where nobody wants their values, and the reader only sees to
 *     it that they are there; null for readers of queries
 */
public record ReadContext(
    CacheCounters counters, Admission admission, Predicate<ChunkKey> keeps, WarmedChunks warmed) {

  /** A reader of a query. */
  public ReadContext(CacheCounters counters, Admission admission, Predicate<ChunkKey> keeps) {
    this(counters, admission, keeps, null);
  }

  /** A reader whose chunks belong here, and that keeps none. */
  public ReadContext(CacheCounters counters) {
    this(counters, Admission.EVICTING, key -> false);
  }

  /** Makes the context of a reader that only sees to it that chunks are there. */
  public ReadContext warming(WarmedChunks chunks) {
    return new ReadContext(counters, admission, keeps, chunks);
  }

  /** Whether a query wants what is read. */
  public boolean isAsking() {
    return warmed == null;
  }
}
