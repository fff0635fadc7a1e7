package io.oap.spark.filescan

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType

/**
 * What a format of Delta says of its table. Delta need not be there when this is compiled or loaded,
 * so it is asked by names: those of Delta 4.1 to 4.4, `DeltaParquetFileFormat`.
 */
private[filescan] object DeltaFormat extends Logging {
  private val Name = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** Of a column's field, what the column is called in the files. */
  private val PhysicalName = "delta.columnMapping.physicalName"

  /** Whether a format is Delta's for the files of tables. */
  def is(format: FileFormat): Boolean =
    Iterator.iterate[Class[_]](format.getClass)(_.getSuperclass).takeWhile(_ != null)
      .exists(_.getName == Name)

  /** The table's properties, as its log has them. */
  def properties(format: FileFormat): Map[String, String] =
    asked(Map.empty[String, String])(
      call(call(format, "metadata"), "configuration").asInstanceOf[Map[String, String]])

  /** What the columns are called in the files, by their names; those with another name only. */
  def physicalNames(format: FileFormat): Map[String, String] =
    asked(Map.empty[String, String]) {
      call(format, "referenceSchema").asInstanceOf[StructType].fields.iterator
        .filter(_.metadata.contains(PhysicalName))
        .map(field => field.name -> field.metadata.getString(PhysicalName))
        .toMap
    }

  private def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)

  private def asked[A](otherwise: A)(ask: => A): A =
    try ask
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug("A table of Delta cannot be asked what it says of itself", e)
        otherwise
    }
}
