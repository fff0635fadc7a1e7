package io.oap.spark.scan

import org.apache.spark.sql.connector.read.Scan

import io.oap.spark.read.WarmTasks
import io.oap.spark.table.PinnedColumns

/** A scan of a V2 table that reads through the cache and has the metrics of cached scans. */
private[spark] trait CachedScan extends Scan {

  /** What loads all that the scan reads; nothing where it reads around the cache. */
  private[spark] def warmTasks(): Option[WarmTasks]

  /** The columns by what the table's files call them. */
  private[spark] def inFiles(columns: PinnedColumns): PinnedColumns
}
