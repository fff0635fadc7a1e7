package io.oap.spark.read

import java.io.Closeable

import org.apache.spark.SparkException
import org.apache.spark.sql.connector.read.PartitionReader

import io.oap.cache.file.FileReplacedException
import io.oap.cache.vector.VectorException

/**
 * Gives what is no fault of a file an error that Spark takes for none. Where corrupt files are to be
 * ignored it would pass over the rest of the file.
 */
private[spark] object FileBlame {

  def sparing[T](body: => T): T =
    try body
    catch {
      case e: Exception =>
        // Readers of files put the errors of their streams into their own.
        val fault = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).take(MostCauses)
          .find(isOfNoFile)
        throw fault.fold[Throwable](e)(found => new SparkException(found.getMessage, e))
    }

  /** Rows, or batches, whose errors are such; closed as they are. */
  def sparingRows[T](rows: Iterator[T]): Iterator[T] with Closeable =
    new Iterator[T] with Closeable {
      override def hasNext: Boolean = sparing(rows.hasNext)

      override def next(): T = sparing(rows.next())

      override def close(): Unit = rows match {
        case open: Closeable => open.close()
        case _ =>
      }
    }

  /** A reader whose errors are such. */
  def sparingReader[T](reader: PartitionReader[T]): PartitionReader[T] =
    new PartitionReader[T] {
      override def next(): Boolean = sparing(reader.next())

      override def get(): T = sparing(reader.get())

      override def close(): Unit = reader.close()
    }

  private val MostCauses = 20

  private def isOfNoFile(error: Throwable): Boolean = error match {
    case _: FileReplacedException | _: VectorException => true
    case _ => false
  }
}
