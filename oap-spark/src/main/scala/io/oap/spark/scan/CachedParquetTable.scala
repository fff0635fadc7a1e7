package io.oap.spark.scan

import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetScanBuilder, ParquetTable}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.oap.spark.table.ScanCachePolicy

/**
 * A Parquet table as Spark's DataSource V2 knows it, read through the column cache.
 *
 * @param parquet the table, with the options it is read with
 * @param files gives its files; asked at most once
 * @param dataColumns columns in the files
 * @param allColumns columns of the table, partition columns included
 * @param statistics what Spark alone would plan with, where the table was a V1 relation
 * @param offered data columns its scan offers for runtime filtering, besides the partition columns
 * @param tableRules what users want of the table's chunks in the pools
 */
final class CachedParquetTable(
    parquet: ParquetTable,
    files: () => PartitioningAwareFileIndex,
    dataColumns: StructType,
    allColumns: StructType,
    val statistics: Option[V1Statistics],
    offered: Set[String],
    tableRules: ScanCachePolicy)
    extends ParquetTable(
      parquet.name,
      parquet.sparkSession,
      parquet.options,
      parquet.paths,
      parquet.userSpecifiedSchema,
      parquet.fallbackFileFormat) {

  /** What people call it: its name in a catalog, or else its paths, of many the first. */
  def label: String =
    if (statistics.isDefined && name != "parquet") name
    else {
      val all = fileIndex.rootPaths
      val rest = if (all.size > 3) s" and ${all.size - 3} more" else ""
      all.take(3).mkString(", ") + rest
    }

  override lazy val fileIndex: PartitioningAwareFileIndex = files()
  override lazy val dataSchema: StructType = dataColumns
  override lazy val schema: StructType = allColumns

  override def newScanBuilder(options: CaseInsensitiveStringMap): ParquetScanBuilder =
    new CachedParquetScanBuilder(
      ParquetScanBuilder(sparkSession, fileIndex, schema, dataSchema, mergedOptions(options)),
      statistics,
      offered,
      tableRules)

  // Without this the table it stands for would take itself for equal, and Spark, which compares a
  // plan before and after a rule, would see no change.
  override def canEqual(other: Any): Boolean = other.isInstanceOf[CachedParquetTable]

  override def equals(other: Any): Boolean = other match {
    case that: CachedParquetTable =>
      name == that.name && fileIndex == that.fileIndex && schema == that.schema &&
      options == that.options
    case _ => false
  }

  override def hashCode(): Int = (name, schema).hashCode
}
