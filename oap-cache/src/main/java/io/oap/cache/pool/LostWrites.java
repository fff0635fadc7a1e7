package io.oap.cache.pool;

import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a disk has lost what was written to a pool, which takes no chunks since; tells it once.
 */
final class LostWrites {
  private static final Logger LOG = LoggerFactory.getLogger(LostWrites.class);

  private final long pool;
  private final String place;
  private final AtomicBoolean isTold = new AtomicBoolean();

  LostWrites(long pool, String place) {
    this.pool = pool;
    this.place = place;
  }

  /** Whether there are any. Costs next to nothing. */
  boolean areThere() {
    return isTold.get() || NativePool.hasLostWrites(pool);
  }

  /** Tells it, if there are. */
  void tellIfThere() {
    if (areThere()) {
      tell();
    }
  }

  /** Tells it. */
  void tell() {
    if (isTold.compareAndSet(false, true)) {
      LOG.warn(
          "A disk has lost what was written to the pool in {}. The column cache has dropped all and"
              + " takes nothing more in this process; queries read files as Spark alone does.",
          place);
    }
  }
}
