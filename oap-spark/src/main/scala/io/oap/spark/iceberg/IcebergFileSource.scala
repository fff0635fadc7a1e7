package io.oap.spark.iceberg

import java.io.EOFException
import java.nio.ByteBuffer
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.FSDataInputStream
import org.apache.hadoop.util.functional.FutureIO
import org.apache.iceberg.io.{
  DelegatingInputStream,
  FileRange,
  InputFile,
  RangeReadable,
  SeekableInputStream
}

import io.oap.cache.file.{FileSource, FileStream, HadoopFileSource}
import io.oap.cache.file.FileRanges.Range
import io.oap.common.FileIdentity

/**
 * A file of an Iceberg table. Iceberg never writes to a location twice (table specification, "File
 * System Operations": files are immutable once written). Others may, before they add the file again:
 * the commit that added it tells. So no status has to be asked for.
 *
 * @param length bytes, as a manifest has it
 * @param version as [[FileVersions]] tells it
 */
private[iceberg] final class IcebergFileSource(file: InputFile, length: Long, version: String)
    extends FileSource {
  override val identity: FileIdentity = new FileIdentity(file.location, length, 0, version)

  override def open(): FileStream = new IcebergFileStream(file)
}

private[iceberg] object IcebergFileSource {

  /** By which the Directory knows any version of a file. */
  def placementKey(location: String, length: Long): Long =
    FileIdentity.placementKey(location, length, 0)
}

/** The bytes of such a file by Iceberg's own stream, which is opened at the first read. */
private final class IcebergFileStream(file: InputFile) extends FileStream {
  private var in: SeekableInputStream = _

  private def opened: SeekableInputStream = {
    if (in == null) in = file.newStream()
    in
  }

  override def read(ranges: java.util.List[Range]): java.util.List[ByteBuffer] =
    opened match {
      case stream: RangeReadable => vectored(stream, ranges)
      case stream: DelegatingInputStream =>
        stream.getDelegate match {
          case hadoop: FSDataInputStream =>
            HadoopFileSource.readVectored(hadoop, ranges, file.location)
          case _ => oneByOne(ranges)
        }
      case _ => oneByOne(ranges)
    }

  private def vectored(
      stream: RangeReadable,
      ranges: java.util.List[Range]): java.util.List[ByteBuffer] = {
    val requests = ranges.asScala.map(range =>
      new FileRange(new CompletableFuture[ByteBuffer], range.offset, range.length))
    stream.readVectored(requests.asJava, ByteBuffer.allocate(_))
    requests.map(request =>
      FutureIO.awaitFuture(
        request.byteBuffer,
        IcebergFileStream.TimeoutSeconds,
        TimeUnit.SECONDS)).asJava
  }

  private def oneByOne(ranges: java.util.List[Range]): java.util.List[ByteBuffer] =
    ranges.asScala.map { range =>
      val bytes = ByteBuffer.allocate(range.length)
      while (bytes.hasRemaining) {
        if (read(range.offset + bytes.position(), bytes) < 0) {
          throw new EOFException(s"$range of ${file.location}")
        }
      }
      bytes.flip()
    }.asJava

  override def read(position: Long, into: ByteBuffer): Int = {
    if (opened.getPos != position) opened.seek(position)
    FileStream.read(opened, into)
  }

  override def close(): Unit =
    if (in != null) {
      in.close()
      in = null
    }
}

private object IcebergFileStream {
  private val TimeoutSeconds = 300L
}
