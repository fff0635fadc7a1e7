package io.oap.spark.iceberg

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.spark.optimizer.BroadcastKeys

/** Has scans of Iceberg tables drop rows by the keys of broadcasts that their stage joins with. */
private[spark] object UseIcebergJoinKeys extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val broadcasts = new BroadcastKeys(plan)
    plan.transformUp { case batch: BatchScanExec =>
      batch.scan match {
        case scan: CachedIcebergScan =>
          val keys = broadcasts.conditions(batch)(scan.takesKeys)
          if (keys.isEmpty) batch else batch.copy(runtimeFilters = batch.runtimeFilters ++ keys)
        case _ => batch
      }
    }
  }
}
