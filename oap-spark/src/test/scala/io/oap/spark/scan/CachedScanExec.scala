package io.oap.spark.scan

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** Cached scans among the operators of a physical plan. */
private[spark] object CachedScanExec {

  /** The operator and its scan. */
  def unapply(plan: SparkPlan): Option[(BatchScanExec, CachedParquetScan)] = plan match {
    // Not by its constructor: that has other parameters in each version of Spark.
    case exec: BatchScanExec =>
      exec.scan match {
        case scan: CachedParquetScan => Some((exec, scan))
        case _ => None
      }
    case _ => None
  }
}
