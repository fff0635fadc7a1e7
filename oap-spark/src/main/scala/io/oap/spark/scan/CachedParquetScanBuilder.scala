package io.oap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{Expression, PythonUDF, UpdateFields}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.read.VariantExtraction
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetScan, ParquetScanBuilder}

import io.oap.spark.table.ScanCachePolicy

/** Takes Spark's V2 push-down as Spark's own Parquet source does, and builds a cached scan. */
final class CachedParquetScanBuilder(
    parquet: ParquetScanBuilder,
    statistics: Option[V1Statistics],
    offered: Set[String],
    tableRules: ScanCachePolicy)
    extends ParquetScanBuilder(
      parquet.sparkSession,
      parquet.fileIndex,
      parquet.schema,
      parquet.dataSchema,
      parquet.options) {
  override def build(): ParquetScan =
    new CachedParquetScan(super.build(), statistics, offered, tableRules)

  /**
   * Spark's builder takes every condition on nothing but partition columns for one that the listing
   * of files evaluates, and keeps it to itself. Python functions can be evaluated only by an operator
   * of their own, changes of fields only when they have been replaced, and a condition on no column
   * at all is left out where there are no partitions.
   */
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val (listed, others) = filters.partition(f =>
      f.references.nonEmpty && !f.exists {
        case _: PythonUDF | _: UpdateFields => true
        case _ => false
      })
    val above = FilterValues.inEveryZone(super.pushFilters(listed)) ++ others
    // In the order of the query, in which an earlier condition may keep rows from a later one. Those
    // that are not deterministic Spark alone puts last, where the relation is one of V2.
    above.sortBy(one => (statistics.isEmpty && !one.deterministic, filters.indexOf(one)))
  }

  /**
   * Spark alone pushes no aggregate into a V1 relation. Where it does, it takes the statistics of a
   * column by its place in the table, which is another place in a file with nested columns before
   * it, or with columns in another order.
   */
  override def pushAggregation(aggregation: Aggregation): Boolean =
    statistics.isEmpty && super.pushAggregation(aggregation)

  /** A V1 relation has taken the parts of variants that are wanted into its schema already. */
  override def pushVariantExtractions(extractions: Array[VariantExtraction]): Array[Boolean] =
    if (statistics.isDefined) extractions.map(_ => false)
    else super.pushVariantExtractions(extractions)
}
