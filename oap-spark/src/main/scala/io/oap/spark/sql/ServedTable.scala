package io.oap.spark.sql

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.orc.OrcTable
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetTable

import io.oap.spark.delta.DeltaFormat
import io.oap.spark.iceberg.{IcebergFiles, IcebergTables}
import io.oap.spark.scan.CatalogPartitions
import io.oap.spark.table.{CachedFormats, TableSelector}

/**
 * A table of a kind that the cache serves, as a relation of an analyzed plan reads it.
 *
 * @param format the kind, as `spark.oap.cache.formats` names it
 * @param paths folders and files in which it lies, as its files are called; found when they are
 *     asked for
 * @param areQualified whether these name their file system
 * @param described the table with the properties it has, where it is one of a catalog
 */
private final class ServedTable(
    val format: String,
    val paths: () => Seq[String],
    val areQualified: Boolean,
    described: Option[CatalogTable]) {

  /** Whether the table says of itself that it is pinned. */
  def isPinned: Boolean = described.exists(TableSelector.isPinned)
}

private object ServedTable {

  /** The table that a relation reads; else why it is none, as the end of a sentence. */
  def of(relation: LogicalPlan): Either[String, ServedTable] = relation match {
    case LogicalRelation(files: HadoopFsRelation, _, table, _, _) => ofFiles(files, table)
    case DataSourceV2Relation(table: ParquetTable, _, _, _, _, _) =>
      val paths = table.fileIndex match {
        case partitions: CatalogPartitions =>
          partitions.rootPaths ++ partitions.shown.rootPaths
        case index => index.rootPaths
      }
      Right(new ServedTable(CachedFormats.Parquet, () => texts(paths), false, None))
    case DataSourceV2Relation(table: OrcTable, _, _, _, _, _) =>
      Right(
        new ServedTable(CachedFormats.Orc, () => texts(table.fileIndex.rootPaths), false, None))
    case DataSourceV2Relation(table, _, _, _, _, _) if IcebergTables.is(table) => ofIceberg(table)
    case _ => otherKind
  }

  private def otherKind = Left("it has no Parquet or ORC files, and is not of Iceberg or Delta")

  private def ofFiles(
      files: HadoopFsRelation,
      table: Option[CatalogTable]): Either[String, ServedTable] = {
    val format = files.fileFormat match {
      case delta if DeltaFormat.is(delta) => Some(CachedFormats.Delta)
      case _: ParquetFileFormat => Some(CachedFormats.Parquet)
      case _: OrcFileFormat => Some(CachedFormats.Orc)
      case _ => None
    }
    format.fold[Either[String, ServedTable]](otherKind) { name =>
      val described = table.map(one =>
        one.copy(properties = one.properties ++ DeltaFormat.properties(files.fileFormat)))
      Right(new ServedTable(name, () => paths(name, files.location), false, described))
    }
  }

  private def paths(format: String, files: FileIndex): Seq[String] = files match {
    // Partitions may lie elsewhere than their table.
    case index: CatalogFileIndex =>
      texts(index.rootPaths ++ index.filterPartitions(Nil).rootPaths)
    // Files of a shallow clone lie in the folder of another table.
    case index if format == CachedFormats.Delta =>
      val homes = texts(index.rootPaths)
      homes ++ index.inputFiles.filterNot(file =>
        homes.exists(home => file.startsWith(home + "/")))
    case index => texts(index.rootPaths)
  }

  private def texts(paths: Seq[Path]): Seq[String] = paths.map(_.toString)

  private def ofIceberg(table: Table): Either[String, ServedTable] =
    if (IcebergTables.isOfMetadata(table)) Left("it is one of Iceberg's metadata tables")
    else
      Right(new ServedTable(
        CachedFormats.Iceberg,
        () => IcebergFiles.locations(table),
        true,
        IcebergTables.catalogTable(table)))
}
