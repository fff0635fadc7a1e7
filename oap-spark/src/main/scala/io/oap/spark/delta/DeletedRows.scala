package io.oap.spark.delta

import java.lang.reflect.{InvocationTargetException, Method}
import java.util.BitSet
import java.util.concurrent.ExecutionException

import scala.util.control.NonFatal

import com.google.common.cache.{Cache, CacheBuilder, Weigher}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.{ByteType, LongType, StructField, StructType}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.util.SerializableConfiguration

import io.oap.spark.read.UnservedFileException
import io.oap.spark.vector.DeletedPositions

/**
 * Rows of Delta's files that deletion vectors say are deleted. Delta's own method tells them, by the
 * number that each row has in its file: it marks those in a column that Delta's scans have for it. That
 * it is a private one, of Delta 4.1 to 4.4, is the price of reading the rows without Delta's reader.
 *
 * @param format Delta's, which has the method
 */
private[spark] final class DeletedRows(format: FileFormat) extends Serializable {

  @transient private lazy val marking = new DeletedRows.Marking(format)

  /**
   * The deleted rows of a file. They are kept for the tasks of this process: files and deletion vectors
   * never change.
   *
   * @param rows how many the file has
   * @param conf by which deletion vectors are read
   * @throws UnservedFileException where they cannot be told, so that Delta's reader has to read the file
   */
  def of(file: PartitionedFile, rows: Long, conf: SerializableConfiguration): DeletedPositions = {
    // Among these is which deletion vector the file has.
    val told = file.otherConstantMetadataColumnValues
    val positions =
      try
        if (told.isEmpty) DeletedRows.Nothing
        else DeletedRows.kept.get((file.filePath.toString, told), () => ask(file, rows, conf))
      catch { case e: ExecutionException => throw e.getCause }
    if (positions.isEmpty) DeletedPositions.None else new DeletedPositions(positions)
  }

  private def ask(file: PartitionedFile, rows: Long, conf: SerializableConfiguration): BitSet = {
    def unserved(why: String) = new UnservedFileException(file.filePath.toString, why)
    if (rows > DeletedPositions.MostRows) throw unserved(s"it has $rows rows")
    try marking.of(file, rows.toInt, conf)
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        val cause = e match {
          case e: InvocationTargetException => e.getCause
          case other => other
        }
        throw unserved("its deleted rows are not told").initCause(cause)
    }
  }
}

private[spark] object DeletedRows extends Logging {

  /** The column that Delta's scans have for the marks: 0 for the rows that there are. */
  val Marks = "__delta_internal_is_row_deleted"

  private val Column = "org.apache.spark.sql.delta.DeltaParquetFileFormat$ColumnMetadata"

  /** How many rows are asked for at a time. */
  private val Rows = 4096

  /** Bytes of the heap. A file of a million rows takes 125 KB at most, whatever is deleted. */
  private val MostKept = 64L << 20

  private val Nothing = new BitSet

  private type File = (String, Map[String, Any])

  private val kept: Cache[File, BitSet] = {
    val bytes: Weigher[File, BitSet] = (_, positions) => 1024 + positions.size / 8
    CacheBuilder.newBuilder().maximumWeight(MostKept).weigher(bytes).build()
  }

  /**
   * How deleted rows of a scan are told. None where the scan does not mark them, where that does not go
   * by numbers that Spark's reader gives, and where Delta's class is not as it was.
   *
   * @param isSplitable whether Delta lets files be cut and rows be dropped before it marks them
   */
  def of(format: FileFormat, schema: StructType, isSplitable: Boolean): Option[DeletedRows] =
    try {
      val names = schema.fieldNames
      Option.when(
        isSplitable && names.contains(Marks) &&
          names.contains(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME) &&
          DeltaFormat.is(format)) {
        new Marking(format)
        new DeletedRows(format)
      }
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug("Rows of a table of Delta cannot be marked but by its reader", e)
        None
    }

  /** Has Delta's method mark rows of which there are nothing but their numbers. */
  private final class Marking(format: FileFormat) {
    private val method: Method = Iterator.iterate[Class[_]](format.getClass)(_.getSuperclass)
      .takeWhile(_ != null)
      .flatMap(_.getDeclaredMethods)
      .find(_.getName == "iteratorWithAdditionalMetadataColumns")
      .filter(_.getParameterTypes.toSeq == Seq(
        classOf[PartitionedFile],
        classOf[Iterator[_]],
        classOf[Option[_]],
        classOf[Option[_]],
        classOf[Boolean],
        classOf[SerializableConfiguration],
        classOf[Boolean]
      ))
      .getOrElse(throw new NoSuchMethodException(format.getClass.getName))
    method.setAccessible(true)

    private val column = Class.forName(Column, true, format.getClass.getClassLoader)
      .getConstructor(classOf[Int], classOf[StructField])
    private val marks = column.newInstance(Int.box(0), StructField(Marks, ByteType))
    private val numbers = column.newInstance(
      Int.box(1),
      StructField(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME, LongType))

    def of(file: PartitionedFile, rows: Int, conf: SerializableConfiguration): BitSet = {
      val deleted = new BitSet
      val (usesOffHeapVectors, usesRowIndex) = (false, true)
      val marked = method.invoke(
        format,
        file,
        batches(rows),
        Some(marks),
        Some(numbers),
        Boolean.box(usesOffHeapVectors),
        conf,
        Boolean.box(usesRowIndex)).asInstanceOf[Iterator[ColumnarBatch]]
      for (batch <- marked) {
        val (mark, number) = (batch.column(0), batch.column(1))
        for (row <- 0 until batch.numRows)
          if (mark.getByte(row) != 0) deleted.set(number.getLong(row).toInt)
      }
      deleted
    }

    private def batches(rows: Int): Iterator[ColumnarBatch] = {
      val columns: Array[WritableColumnVector] =
        Array(new OnHeapColumnVector(Rows, ByteType), new OnHeapColumnVector(Rows, LongType))
      Iterator.range(0, rows, Rows).map { from =>
        val count = math.min(Rows, rows - from)
        for (row <- 0 until count) columns(1).putLong(row, from + row)
        new ColumnarBatch(columns.map(column => column: ColumnVector), count)
      }
    }
  }
}
