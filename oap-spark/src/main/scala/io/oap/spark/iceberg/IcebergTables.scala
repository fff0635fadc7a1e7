package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.types.StructType

import io.oap.spark.internals.SparkInternals

/**
 * What Spark knows of Iceberg's tables. Iceberg is found by the names of its classes, so that none
 * of them need be there.
 */
private[spark] object IcebergTables {
  private val OfSpark = "org.apache.iceberg.spark.source.SparkTable"
  private val MetadataTable = "org.apache.iceberg.BaseMetadataTable"

  /** Whether a table is one of Iceberg. */
  def is(table: Table): Boolean = hasClass(table, OfSpark)

  /** Whether the rows of a table of Iceberg are about another table's files. */
  def isOfMetadata(table: Table): Boolean = hasClass(ofIceberg(table), MetadataTable)

  /** The table of Iceberg's own that stands behind one of Spark, also where its rows are changed. */
  private[iceberg] def ofIceberg(table: Table): AnyRef = {
    val known = SparkInternals.changed(table)
    known.getClass.getMethod("table").invoke(known)
  }

  private def hasClass(value: AnyRef, name: String): Boolean =
    Iterator.iterate[Class[_]](value.getClass)(_.getSuperclass).takeWhile(_ != null)
      .exists(_.getName == name)

  /** The folder of a table. */
  def location(table: Table): Option[Path] =
    Option(table.properties.get("location")).map(new Path(_))

  /** The folders that a table writes its files to: its own, and one elsewhere if it is told to. */
  def folders(table: Table): Seq[Path] =
    (location(table) ++ Option(table.properties.get("write.data.path")).map(new Path(_))).toSeq

  /** The table as Spark's own catalog would describe it; nothing of a table that is only a path. */
  def catalogTable(table: Table): Option[CatalogTable] = {
    val parts = table.name.split('.').toSeq
    if (table.name.contains("/") || parts.size < 2) None
    else {
      val (catalog, namespace) =
        if (parts.size > 2) (Some(parts.head), parts.slice(1, parts.size - 1))
        else (None, parts.init)
      Some(CatalogTable(
        TableIdentifier(parts.last, Some(namespace.mkString(".")), catalog),
        CatalogTableType.EXTERNAL,
        CatalogStorageFormat.empty.copy(locationUri = location(table).map(_.toUri)),
        new StructType,
        properties =
          table.properties.asScala.toMap
      ))
    }
  }
}
