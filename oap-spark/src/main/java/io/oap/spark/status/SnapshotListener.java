package io.oap.spark.status;

import org.apache.spark.scheduler.SparkListener;

/** Adds up the events on the column cache. Thread-safe. */
public abstract class SnapshotListener extends SparkListener {
  /** What they add up to so far; a copy. */
  public abstract CacheSnapshot snapshot();
}
