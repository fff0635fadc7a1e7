package io.oap.spark.scan

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MapInArrow, MapInPandas}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.{MapInArrowExec, MapInPandasExec}

/**
 * Whether the tasks of a plan may be told where to run. Not if those of some stage have to start at
 * once: more of them than Spark would make may find too few slots, and one that waits for its
 * executor stops all. Nor if a stage has a resource profile of its own: it runs on other executors,
 * and would wait for ours in vain.
 */
private[spark] object PlacedStages {
  def mayBeIn(plan: LogicalPlan): Boolean = !plan.exists {
    case pandas: MapInPandas => pandas.isBarrier || pandas.profile.isDefined
    case arrow: MapInArrow => arrow.isBarrier || arrow.profile.isDefined
    case _ => false
  }

  def mayBeIn(plan: SparkPlan): Boolean = !plan.exists {
    case pandas: MapInPandasExec => pandas.isBarrier || pandas.profile.isDefined
    case arrow: MapInArrowExec => arrow.isBarrier || arrow.profile.isDefined
    case _ => false
  }
}
