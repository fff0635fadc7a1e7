package io.oap.spark.iceberg

import java.nio.ByteBuffer
import java.util.function.IntFunction

import scala.jdk.CollectionConverters._

import org.apache.iceberg.io.{
  FileIO,
  FileRange,
  InputFile,
  OutputFile,
  RangeReadable,
  SeekableInputStream
}

import io.oap.cache.CachedFileStream
import io.oap.cache.file.FileRanges.Range

/**
 * Iceberg's way to the files of a table for one task, with some of them read through the cache.
 * Thread-safe, as Iceberg loads delete files on threads of its own.
 *
 * @param real Iceberg's own, which reads what the cache lacks and all other files
 * @param served versions of the files that are read through the cache, by their locations
 * @param cached opens a stream of a file
 */
private[iceberg] final class CachedFileIO(
    real: FileIO,
    served: Map[String, String],
    cached: IcebergFileSource => CachedFileStream)
    extends FileIO {

  override def newInputFile(location: String): InputFile = real.newInputFile(location)

  override def newInputFile(location: String, length: Long): InputFile = {
    val file = real.newInputFile(location, length)
    served.get(location).fold(file)(new CachedInputFile(file, length, _, cached))
  }

  override def newOutputFile(location: String): OutputFile = real.newOutputFile(location)

  override def deleteFile(location: String): Unit = real.deleteFile(location)

  override def properties(): java.util.Map[String, String] = real.properties()
}

/** A file of known length. It is looked for only when the cache lacks something of it. */
private final class CachedInputFile(
    real: InputFile,
    length: Long,
    version: String,
    cached: IcebergFileSource => CachedFileStream)
    extends InputFile {

  override def getLength: Long = length

  override def newStream(): SeekableInputStream =
    new CachedInputStream(cached(new IcebergFileSource(real, length, version)), length)

  override def location(): String = real.location()

  override def exists(): Boolean = real.exists()
}

/** A file's bytes as Iceberg reads them. Closing it lets go of the file. */
private final class CachedInputStream(file: CachedFileStream, length: Long)
    extends SeekableInputStream
    with RangeReadable {
  private var position = 0L

  override def getPos: Long = position

  override def seek(to: Long): Unit = position = to

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  override def read(bytes: Array[Byte], offset: Int, count: Int): Int = {
    val got = file.read(position, ByteBuffer.wrap(bytes, offset, count))
    position += math.max(got, 0)
    got
  }

  override def skip(count: Long): Long = {
    val skipped = math.max(0, math.min(count, length - position))
    position += skipped
    skipped
  }

  override def readFully(from: Long, bytes: Array[Byte], offset: Int, count: Int): Unit =
    file.readFully(from, ByteBuffer.wrap(bytes, offset, count))

  override def readTail(bytes: Array[Byte], offset: Int, count: Int): Int = {
    val got = math.min(count.toLong, length).toInt
    readFully(length - got, bytes, offset, got)
    got
  }

  override def readVectored(
      ranges: java.util.List[FileRange],
      allocate: IntFunction[ByteBuffer]): Unit = {
    val ascending = RangeReadable.sortRanges(ranges).asScala
    val wanted = ascending.map(range => new Range(range.offset, range.length)).asJava
    ascending.zip(file.read(wanted, allocate).asScala).foreach { case (range, bytes) =>
      range.byteBuffer.complete(bytes)
    }
  }

  override def close(): Unit = file.close()
}
