package io.oap.spark.filescan

import java.io.Closeable
import java.lang.reflect.{InvocationTargetException, Method}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.util.SerializableConfiguration

/**
 * Marks rows that deletion vectors say are deleted, in a column that Delta's scans have for it. A
 * filter above the scan drops them. Delta's own method does it, by the number that each row has in its
 * file; that it is a private one, of Delta 4.1 to 4.4, is the price of reading the rows without
 * Delta's reader.
 *
 * @param format Delta's, which has the method
 * @param deleted the column of the marks, as that method takes it
 * @param rowIndex the column of the numbers
 */
private[filescan] final class DeletedRows(
    format: FileFormat,
    deleted: AnyRef,
    rowIndex: AnyRef,
    usesOffHeapVectors: Boolean)
    extends Serializable {

  @transient private lazy val method: Method = DeletedRows.method(format)

  /** The rows, or batches, of a file with the marks. Takes over the iterator, and closes it on errors. */
  def marked(
      file: PartitionedFile,
      rows: Iterator[AnyRef] with Closeable,
      conf: SerializableConfiguration): Iterator[AnyRef] =
    try {
      val usesRowIndex = true
      method.invoke(
        format,
        file,
        rows,
        Some(deleted),
        Some(rowIndex),
        Boolean.box(usesOffHeapVectors),
        conf,
        Boolean.box(usesRowIndex)).asInstanceOf[Iterator[AnyRef]]
    } catch {
      case e: Throwable =>
        rows.close()
        throw (e match {
          case e: InvocationTargetException => e.getCause
          case other => other
        })
    }
}

private[filescan] object DeletedRows extends Logging {
  private val Deleted = "__delta_internal_is_row_deleted"
  private val Column = "org.apache.spark.sql.delta.DeltaParquetFileFormat$ColumnMetadata"

  /**
   * How rows of a scan are marked. None where they need not be, where that does not go by numbers that
   * Spark's reader gives, and where Delta's class is not as it was.
   *
   * @param isSplitable whether Delta lets files be cut and rows be dropped before it marks them
   */
  def of(
      format: FileFormat,
      schema: StructType,
      isSplitable: Boolean,
      usesOffHeapVectors: Boolean): Option[DeletedRows] =
    try {
      val columns = schema.fields.zipWithIndex
      for {
        deleted <- columns.find(_._1.name == Deleted)
        rowIndex <- columns.find(_._1.name == ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME)
        if isSplitable && DeltaFormat.is(format)
      } yield {
        method(format)
        val column = Class.forName(Column, true, format.getClass.getClassLoader)
          .getConstructor(classOf[Int], classOf[StructField])
        def asked(of: (StructField, Int)) =
          column.newInstance(Int.box(of._2), of._1).asInstanceOf[AnyRef]
        new DeletedRows(format, asked(deleted), asked(rowIndex), usesOffHeapVectors)
      }
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug("Rows of a table of Delta cannot be marked but by its reader", e)
        None
    }

  private def method(format: FileFormat): Method = {
    val found = Iterator.iterate[Class[_]](format.getClass)(_.getSuperclass).takeWhile(_ != null)
      .flatMap(_.getDeclaredMethods)
      .find(_.getName == "iteratorWithAdditionalMetadataColumns")
      .getOrElse(throw new NoSuchMethodException(format.getClass.getName))
    val taken = Seq(
      classOf[PartitionedFile],
      classOf[Iterator[_]],
      classOf[Option[_]],
      classOf[Option[_]],
      classOf[Boolean],
      classOf[SerializableConfiguration],
      classOf[Boolean]
    )
    if (found.getParameterTypes.toSeq != taken) throw new NoSuchMethodException(found.toString)
    found.setAccessible(true)
    found
  }
}
