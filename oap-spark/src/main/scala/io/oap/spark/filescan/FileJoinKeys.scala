package io.oap.spark.filescan

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis.caseSensitiveResolution
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.{FileSourceScanExec, InSubqueryExec, SparkPlan}
import org.apache.spark.sql.types.StructType

import io.oap.spark.internals.SparkInternals
import io.oap.spark.optimizer.{BroadcastKeys, JoinKeys}
import io.oap.spark.scan.RuntimeFilters

/** Has V1 scans drop rows by the keys of broadcasts that their stage joins with. */
private[spark] object UseFileJoinKeys extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val broadcasts = new BroadcastKeys(plan)
    plan.transformUp { case scan: FileSourceScanExec =>
      scan.relation.fileFormat match {
        case format: CachedFormat =>
          val keys = FileJoinKeys.of(scan, broadcasts)
          if (keys.pruning.isEmpty) scan
          else
            scan.copy(
              relation = scan.relation.copy(fileFormat = format.joined(keys))(
                scan.relation.sparkSession),
              dataFilters = scan.dataFilters ++ keys.pruning)
        case _ => scan
      }
    }
  }
}

/**
 * The join keys that a V1 scan may drop rows by. They stand among the filters of the
 * scan, too: Spark shows them there, and knows scans with other keys for other scans.
 *
 * @param columns what the scan reads from files, in the order of its schema
 * @param pruning dynamic pruning on some of these
 */
private[filescan] final case class FileJoinKeys(columns: Seq[Attribute], pruning: Seq[Expression])
    extends Logging {

  /**
   * Gives the keys to a scan that is about to run. None where something fails, as the joins ask the
   * same.
   *
   * @param inFiles the columns as the files call them
   */
  def filters(inFiles: StructType): RuntimeFilters =
    try filters(inFiles, predicates(inFiles))
    catch {
      case NonFatal(e) =>
        logDebug("A scan of files is run without its join keys", e)
        filters(inFiles, Nil)
    }

  private def filters(inFiles: StructType, predicates: Seq[Predicate]): RuntimeFilters =
    new RuntimeFilters(predicates, inFiles, new StructType, caseSensitiveResolution)

  private def predicates(inFiles: StructType): Seq[Predicate] = {
    val names = columns.map(_.exprId).zip(inFiles.fieldNames).toMap
    pruning.collect { case DynamicPruningExpression(in: InSubqueryExec) =>
      // Spark waits for the values of the plan's copy, which may be another one by now. The broadcast
      // is there, so that nothing is waited for.
      if (in.values().isEmpty) in.updateResult()
      SparkInternals.toPredicate(in.transform { case column: Attribute =>
        column.withName(names(column.exprId))
      })
    }.flatten
  }
}

private[filescan] object FileJoinKeys {

  /** Chooses keys for a scan. */
  def of(scan: FileSourceScanExec, broadcasts: BroadcastKeys): FileJoinKeys = {
    val read = columns(scan)
    FileJoinKeys(
      read,
      broadcasts.conditions(scan) { (column, keys) =>
        read.exists(_.exprId == column.exprId) && JoinKeys.areFew(keys, expectedRows(scan))
      })
  }

  /** What a scan reads from files. Behind these stand columns of partitions and metadata. */
  def columns(scan: FileSourceScanExec): Seq[Attribute] =
    scan.output.take(scan.requiredSchema.length)

  /** By the bytes of files, which are compressed: then it is too few. */
  private def expectedRows(scan: FileSourceScanExec): BigInt =
    BigInt(scan.relation.location.sizeInBytes) / EstimationUtils.getSizePerRow(scan.output)
}
