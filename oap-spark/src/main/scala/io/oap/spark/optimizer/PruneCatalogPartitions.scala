package io.oap.spark.optimizer

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  HadoopFsRelation,
  LogicalRelation
}

import io.oap.spark.internals.SparkInternals
import io.oap.spark.scan.CatalogFiles

/**
 * Spark's own rule that lists only the partitions a query can need, by indexes that remember what
 * they have listed. It goes by the name of Spark's.
 */
private[optimizer] object PruneCatalogPartitions extends Rule[LogicalPlan] {

  private val pruned = SparkInternals.prunePartitions

  // Spark takes two indexes of one table as equal, and a transformation keeps a node that becomes an
  // equal one. With an option more it does not.
  private val Mark = "io.oap.remembers" -> "files"

  override val ruleName: String = pruned.ruleName

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val before = new IdentityHashMap[FileIndex, LogicalRelation]
    val marked = plan.transform {
      case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
        files.location match {
          case index: CatalogFileIndex if files.getClass == classOf[HadoopFsRelation] =>
            val other = CatalogFiles.of(files.sparkSession, index)
            if (other eq index) relation
            else {
              before.put(other, relation)
              relation.copy(relation =
                files.copy(location = other, options = files.options + Mark)(files.sparkSession))
            }
          case _ => relation
        }
    }
    if (before.isEmpty) pruned(plan)
    else pruned(marked).transform {
      case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _)
          if files.options.contains(Mark._1) =>
        Option(before.get(files.location)).getOrElse(relation.copy(relation =
          files.copy(options = files.options - Mark._1)(files.sparkSession)))
    }
  }
}
