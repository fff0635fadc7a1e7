package io.oap.cache.pool;

import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells once that a disk has lost what was written to a pool, which takes no chunks since. */
final class LostWrites {
  private static final Logger LOG = LoggerFactory.getLogger(LostWrites.class);

  private final String place;
  private final AtomicBoolean isTold = new AtomicBoolean();

  LostWrites(String place) {
    this.place = place;
  }

  /** Tells it, if these figures do; a pool that is closed refuses chunks for another reason. */
  void tell(PoolStats stats) {
    if (stats.lostWrites() > 0 && isTold.compareAndSet(false, true)) {
      LOG.warn(
          "A disk has lost what was written to the pool in {}. The column cache has dropped all and"
              + " takes nothing more in this process; queries read files as Spark alone does.",
          place);
    }
  }
}
