package io.oap.spark.ui

import io.oap.spark.internals.SparkUi
import io.oap.spark.status.{CacheSnapshot, CacheStatus, SnapshotListener}

/** The tab of an application whose event log was replayed. `HistoryTab` makes it by its name. */
final class CacheHistory extends HistoryContent {
  override def listener(): SnapshotListener = new CacheStatus(isReplayed = true)

  override def tab(snapshot: CacheSnapshot): SparkUi.Content =
    new CacheTab(() => snapshot, Map.empty)
}
