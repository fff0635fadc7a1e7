package io.oap.cache.quota;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How much of the pool may stay whatever is read, for pinned tables and the minimums of tables
 * together: what is left between such chunks must be of use to the others. Thread-safe.
 */
public final class PinBudget {

  private static final Logger LOG = LoggerFactory.getLogger(PinBudget.class);

  /** Of so many parts of the pool, so many may stay. */
  private static final int PARTS = 5;

  private static final int MOST_PARTS = 4;

  private long most;
  private long taken;
  private boolean hasWarned;

  public PinBudget(long capacityBytes) {
    resize(capacityBytes);
  }

  public synchronized void resize(long capacityBytes) {
    most = capacityBytes / PARTS * MOST_PARTS;
  }

  /** Takes so many bytes, if they are left. */
  synchronized boolean take(long bytes) {
    boolean fits = taken + bytes <= most;
    taken += fits ? bytes : 0;
    if (!fits && !hasWarned) {
      hasWarned = true;
      LOG.warn(
          "Four fifths of the column cache's pool stay for pinned tables and minimums of tables;"
              + " further chunks are cached as those of other tables.");
    }
    return fits;
  }

  synchronized void give(long bytes) {
    taken -= bytes;
  }
}
