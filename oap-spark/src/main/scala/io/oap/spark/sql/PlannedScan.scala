package io.oap.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.oap.spark.delta.DeltaFormat
import io.oap.spark.filescan.{CachedFormat, WarmFiles}
import io.oap.spark.read.WarmTasks
import io.oap.spark.scan.CachedScan
import io.oap.spark.table.{CachedFormats, PinnedColumns}

/** A scan of a physical plan that reads through the cache. */
private sealed trait PlannedScan {

  /** Top-level columns that it reads, as the query names them. */
  def columns: Seq[String]

  /** The columns by what the table's files call them. */
  def inFiles(columns: PinnedColumns): PinnedColumns

  /** What loads all that it reads; nothing where it reads around the cache. */
  def warmTasks(): Option[WarmTasks]
}

private object PlannedScan extends AdaptiveSparkPlanHelper {

  /**
   * The scans of a plan.
   *
   * @param tables what the plan reads
   * @throws org.apache.spark.sql.AnalysisException when anything is read without the cache
   */
  def of(
      session: SparkSession,
      table: String,
      tables: Seq[ServedTable],
      plan: => SparkPlan): Seq[PlannedScan] = {
    val conf = session.sessionState.conf
    tables.map(_.format).find(CachedFormats.isLeftOut(conf, _)).foreach(format =>
      throw StatusException.formatNotCached(table, format))
    collectLeaves(plan).flatMap {
      case scan: BatchScanExec =>
        scan.scan match {
          case cached: CachedScan => Some(OfV2(cached))
          case _ => throw StatusException.notCached(table)
        }
      case scan: FileSourceScanExec =>
        scan.relation.fileFormat match {
          case format: CachedFormat => Some(OfV1(scan, format))
          case _ => throw StatusException.notCached(table)
        }
      case _: LocalTableScanExec | _: ReusedExchangeExec => None
      case _ => throw StatusException.notCached(table)
    }
  }

  private final case class OfV2(scan: CachedScan) extends PlannedScan {
    override def columns: Seq[String] = scan.readSchema().fieldNames.toSeq

    override def inFiles(columns: PinnedColumns): PinnedColumns = scan.inFiles(columns)

    override def warmTasks(): Option[WarmTasks] = scan.warmTasks()
  }

  private final case class OfV1(scan: FileSourceScanExec, format: CachedFormat)
      extends PlannedScan {
    override def columns: Seq[String] =
      scan.requiredSchema.fieldNames.toSeq ++ scan.relation.partitionSchema.fieldNames
        .filter(name => scan.output.exists(_.name == name))

    override def inFiles(columns: PinnedColumns): PinnedColumns =
      DeltaFormat.inFiles(columns, format.meant)

    override def warmTasks(): Option[WarmTasks] = Some(WarmFiles.tasks(scan))
  }
}
