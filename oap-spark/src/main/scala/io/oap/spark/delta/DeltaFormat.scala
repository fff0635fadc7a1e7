package io.oap.spark.delta

import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex}
import org.apache.spark.sql.types.StructType

import io.oap.spark.table.PinnedColumns

/**
 * What a format of Delta says of its table. Delta need not be there when this is compiled or loaded,
 * so it is asked by names: those of Delta 4.1 to 4.4, `DeltaParquetFileFormat`.
 */
private[spark] object DeltaFormat extends Logging {
  private val Name = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** Of a column's field, what the column is called in the files. */
  private val PhysicalName = "delta.columnMapping.physicalName"

  /** Whether a format is Delta's for the files of tables. */
  def is(format: FileFormat): Boolean =
    Iterator.iterate[Class[_]](format.getClass)(_.getSuperclass).takeWhile(_ != null)
      .exists(_.getName == Name)

  /** The table's properties, as its log has them; none of another format. */
  def properties(format: FileFormat): Map[String, String] =
    asked(format)(Map.empty[String, String])(
      call(call(format, "metadata"), "configuration").asInstanceOf[Map[String, String]])

  /** The columns by what the files of the table call them. */
  def inFiles(columns: PinnedColumns, format: FileFormat): PinnedColumns = {
    val physical = physicalNames(format).map { case (name, other) =>
      name.toLowerCase(Locale.ROOT) -> other
    }
    columns.renamed(name => Some(physical.getOrElse(name, name)))
  }

  /** What the columns are called in the files, by their names; those with another name only. */
  def physicalNames(format: FileFormat): Map[String, String] =
    asked(format)(Map.empty[String, String]) {
      call(format, "referenceSchema").asInstanceOf[StructType].fields.iterator
        .filter(_.metadata.contains(PhysicalName))
        .map(field => field.name -> field.metadata.getString(PhysicalName))
        .toMap
    }

  /** The version of a table that an index of Delta lists; nothing of another index. */
  def version(format: FileFormat, files: FileIndex): Option[Long] =
    asked(format)(Option.empty[Long])(Some(call(files, "version").asInstanceOf[Long]))

  /** When a table was made or replaced, in milliseconds; 0 where its log does not say. */
  def madeAt(format: FileFormat): Long =
    asked(format)(0L)(
      call(call(format, "metadata"), "createdTime").asInstanceOf[Option[Long]].getOrElse(0L))

  private def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)

  private def asked[A](format: FileFormat)(otherwise: A)(ask: => A): A =
    try if (is(format)) ask else otherwise
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug("A table of Delta cannot be asked what it says of itself", e)
        otherwise
    }
}
