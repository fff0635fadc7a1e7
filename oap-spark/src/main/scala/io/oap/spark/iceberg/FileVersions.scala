package io.oap.spark.iceberg

import scala.util.Try

import org.apache.iceberg.{ContentFile, Table => IcebergTable}
import org.apache.spark.sql.connector.catalog.Table

/**
 * What tells files of one table apart that have lain at one location, one after the other: the
 * number of the commit that added a file. It stays with the file while manifests are written anew.
 *
 * @param table its UUID, as numbers tell something within one table only; none where it has none
 */
private[iceberg] final case class FileVersions(table: Option[String]) {

  /** The version of a file, empty where nothing tells it: the first format version has no numbers. */
  def of(file: ContentFile[_]): String =
    table.zip(FileVersions.number(file)).fold("") { case (id, number) => s"$id:$number" }
}

private[iceberg] object FileVersions {
  def of(table: Table): FileVersions = FileVersions(
    Try(IcebergTables.ofIceberg(table).asInstanceOf[IcebergTable].uuid).toOption
      .flatMap(Option(_)).map(_.toString))

  /** The number of the commit that added a file; none for what a table of the first format version had. */
  def number(file: ContentFile[_]): Option[Long] =
    Option(file.fileSequenceNumber).map(_.longValue).filter(_ > 0)
}
