package io.oap.spark.iceberg

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{ContentFile, Table => IcebergTable}
import org.apache.iceberg.types.Types
import org.apache.spark.sql.connector.catalog.Table

import io.oap.spark.table.PinnedColumns

/** What Iceberg knows of the files of its tables. */
private[spark] object IcebergFiles {

  /**
   * Where the files of a table lie, as its metadata writes it: the folder of the table, and those
   * files of its current snapshot that lie elsewhere.
   */
  def locations(table: Table): Seq[String] = {
    val iceberg = of(table)
    val home = iceberg.location.stripSuffix("/")
    home +: Using.resource(iceberg.newScan().planFiles()) { tasks =>
      tasks.asScala.iterator
        .flatMap(task => Iterator[ContentFile[_]](task.file) ++ task.deletes.asScala)
        .map(_.location)
        .filterNot(_.startsWith(home + "/"))
        .toSet
        .toSeq
    }
  }

  /** Finds all names that a column ever had: a file keeps that of the time when it was written. */
  def names(table: Table): String => Seq[String] = {
    val iceberg = of(table)
    val now = byName(iceberg.schema.columns)
    val ever = iceberg.schemas.values.asScala.toSeq.flatMap(_.columns.asScala)
      .groupMap(_.fieldId)(_.name)
    name =>
      now.get(name.toLowerCase(Locale.ROOT)).fold(Seq(name))(field =>
        (name +: ever.getOrElse(field, Nil)).distinct)
  }

  /** The columns by all names that they ever had. */
  def inFiles(table: Table, columns: PinnedColumns): PinnedColumns = columns.renamed(names(table))

  private def byName(columns: java.util.List[Types.NestedField]): Map[String, Int] =
    columns.asScala.map(field => field.name.toLowerCase(Locale.ROOT) -> field.fieldId).toMap

  private def of(table: Table): IcebergTable =
    IcebergTables.ofIceberg(table).asInstanceOf[IcebergTable]
}
