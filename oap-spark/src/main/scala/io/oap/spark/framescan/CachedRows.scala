package io.oap.spark.framescan

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

import io.oap.spark.dataframe.FilledBatches

/**
 * The rows of a DataFrame that is cached in the pool: what was cached, until that is uncached. Rows that
 * Spark loses and computes again count as the same.
 *
 * @param rdd id of the RDD that is persisted; a DataFrame that is cached again has a new one
 */
private[spark] final case class CachedRows(rdd: Int)

private[spark] object CachedRows {

  /**
   * Returns the rows that a scan reads. None where it reads others, where Spark has not cached all
   * partitions yet, or where its storage level lets Spark drop them without a copy on disk, so that
   * they would be computed again as a matter of course.
   */
  def of(scan: SparkPlan): Option[CachedRows] = scan match {
    case KeyedFrameScan(frame, _) => of(frame)
    case frame: InMemoryTableScanExec =>
      val builder = frame.relation.cacheBuilder
      Option
        .when(builder.storageLevel.useDisk && builder.isCachedColumnBuffersLoaded)(
          builder.cachedColumnBuffers)
        .collect { case cached if FilledBatches.areIn(cached) => CachedRows(cached.id) }
    case _ => None
  }
}
