package io.oap.spark.ui;

import io.oap.spark.internals.SparkUi;
import io.oap.spark.status.CacheSnapshot;
import io.oap.spark.status.SnapshotListener;

/** What the History Server shows of the column cache, and from what. */
public interface HistoryContent {
  /** Adds up the events of one application. */
  SnapshotListener listener();

  /** Shows what they have come to. */
  SparkUi.Content tab(CacheSnapshot snapshot);
}
