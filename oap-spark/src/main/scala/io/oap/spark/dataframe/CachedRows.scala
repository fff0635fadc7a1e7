package io.oap.spark.dataframe

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/**
 * The rows of a DataFrame that is cached in the pool. They stay what they are until it is uncached.
 *
 * @param rdd id of the RDD that is persisted; a DataFrame that is cached once more has another one
 */
private[spark] final case class CachedRows(rdd: Int)

private[spark] object CachedRows {

  /** Returns the rows that a scan reads; none where it reads others, or where not all are cached yet. */
  def of(scan: SparkPlan): Option[CachedRows] = scan match {
    case KeyedFrameScan(frame, _) => of(frame)
    case frame: InMemoryTableScanExec if frame.relation.cacheBuilder.isCachedColumnBuffersLoaded =>
      val cached = frame.baseCacheRDD()
      Option.when(FilledBatches.areIn(cached))(CachedRows(cached.id))
    case _ => None
  }
}
