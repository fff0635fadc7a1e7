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
      case e @ (_: Exception | MemoryFault()) =>
        // Readers of files put the errors of their streams into their own.
        val fault = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).take(MostCauses)
          .find(isOfNoFile)
        throw fault.fold[Throwable](e)(asFailure(_, e))
    }

  private def asFailure(found: Throwable, error: Throwable): SparkException = found match {
    case MemoryFault() =>
      // An error of the JVM that is the cause of a failure ends the executor.
      val failure = new SparkException(
        s"A column chunk of the pool cannot be read from its disk: ${found.getMessage}")
      failure.addSuppressed(error)
      failure
    case _ => new SparkException(found.getMessage, error)
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
    case _: FileReplacedException | _: VectorException | MemoryFault() => true
    case _ => false
  }
}

/**
 * What the JVM throws where it reads a mapped chunk and the disk does not give it. Hadoop's codecs
 * throw other errors of this class for corrupt files.
 */
private[read] object MemoryFault {
  def unapply(error: Throwable): Boolean = error match {
    case e: InternalError => String.valueOf(e.getMessage).contains("unsafe memory access")
    case _ => false
  }
}
