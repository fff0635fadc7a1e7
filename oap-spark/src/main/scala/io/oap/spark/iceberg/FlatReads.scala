package io.oap.spark.iceberg

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, PredicateHelper}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.{
  ParquetPartitionReaderFactory,
  ParquetScan
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DoubleType, FloatType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SerializableConfiguration

import io.oap.spark.filter.RowFilter
import io.oap.spark.read.{JoinedConditions, PlannedConditions, ReadSettings}
import io.oap.spark.scan.FiltersAbove
import io.oap.spark.vector.VectorType

/**
 * What tasks need to read splits of a scan by our own readers, with vector chunks and conditions;
 * made on the driver.
 *
 * @param filters by which row groups are ruled out
 * @param hadoopConf settings of Spark's reader
 * @param conditions what the query and its join keys say about single rows
 */
private[iceberg] final case class FlatReads(
    readSchema: StructType,
    filters: Array[Filter],
    hadoopConf: Broadcast[SerializableConfiguration],
    settings: ReadSettings,
    conditions: PlannedConditions)

private[iceberg] object FlatReads {

  /** Whether our own readers may read splits of a scan: all of its columns are flat. */
  def arePossible(readSchema: StructType): Boolean =
    readSchema.nonEmpty && readSchema.forall(f => VectorType.of(f.dataType).isDefined)

  /**
   * None where our own readers can read no split.
   *
   * @param joined the join keys of the last planning that had any
   */
  def of(
      session: SparkSession,
      readSchema: StructType,
      conditions: ScanFilters,
      joined: Option[JoinedConditions]): Option[FlatReads] =
    Option.when(arePossible(readSchema)) {
      val conf = session.sessionState.conf.clone()
      // Columns of a file are found by the names it has for their ids, which are exact.
      conf.setConf(SQLConf.CASE_SENSITIVE, true)
      conf.setConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED, false)
      SQLConf.withExistingConf(conf) {
        val scan = ParquetScan(
          session,
          session.sessionState.newHadoopConfWithOptions(
            Map(SQLConf.PARQUET_FIELD_ID_READ_ENABLED.key -> "false")),
          new InMemoryFileIndex(session, Nil, Map.empty, None),
          readSchema,
          readSchema,
          new StructType,
          Array.empty,
          CaseInsensitiveStringMap.empty
        )
        val parquet = scan.createReaderFactory().asInstanceOf[ParquetPartitionReaderFactory]
        FlatReads(
          readSchema,
          conditions.rowGroups,
          parquet.broadcastedConf,
          ReadSettings.of(conf, parquet.options),
          PlannedConditions.of(conditions.rows, joined, session.sparkContext)
        )
      }
    }
}

/**
 * The conditions of a query on the rows of one scan, which its plan repeats above the scan.
 *
 * @param rowGroups by which row groups and pages are ruled out. None on floating-point columns: some
 *     writers leave NaN out of minimum and maximum, which Parquet's filters do not know and Iceberg's do
 * @param rows by which rows are dropped
 */
private[iceberg] final case class ScanFilters(rowGroups: Array[Filter], rows: Seq[RowFilter])

private[iceberg] object ScanFilters extends PredicateHelper {

  val Empty: ScanFilters = ScanFilters(Array.empty, Nil)

  /**
   * Whether a filter, such as one on random numbers, decides about a row by how many it was asked for
   * before, and has other conditions, by which Iceberg's reader passes over row groups. Only that
   * reader gives the rows that it is asked for.
   */
  def areCounting(condition: Expression): Boolean =
    !condition.deterministic && splitConjunctivePredicates(condition).exists(_.deterministic)

  /**
   * Takes what can be told of single columns from the condition of the filter above a scan.
   *
   * @param output columns of the scan
   * @param readSchema the same columns, by the names that readers know
   */
  def of(condition: Expression, output: Seq[Attribute], readSchema: StructType): ScanFilters =
    if (!condition.deterministic || output.map(_.dataType) != readSchema.map(_.dataType)) Empty
    else {
      val above = FiltersAbove.of(output, splitConjunctivePredicates(condition))
      val exact = above.copy(conditions = above.conditions.filterNot(mayMeetNaN))
      val names = readSchema.fieldNames.toSeq
      ScanFilters(exact.rowGroups(names).toArray, RowFilter.needed(above.rows(names)))
    }

  private def mayMeetNaN(condition: Expression): Boolean =
    condition.references.exists(column =>
      column.dataType == FloatType || column.dataType == DoubleType)
}
