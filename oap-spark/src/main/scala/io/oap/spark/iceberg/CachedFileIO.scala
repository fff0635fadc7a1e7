package io.oap.spark.iceberg

import java.nio.ByteBuffer
import java.util.function.IntFunction

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.io.{
  FileIO,
  FileRange,
  InputFile,
  OutputFile,
  RangeReadable,
  SeekableInputStream
}

import io.oap.cache.file.FileRanges.Range
import io.oap.cache.stream.CachedFileStream

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
    served.get(location).fold(file) { version =>
      val source = new IcebergFileSource(file, length, version)
      new CachedInputFile(source, real.newInputFile(location), cached)
    }
  }

  override def newOutputFile(location: String): OutputFile = real.newOutputFile(location)

  override def deleteFile(location: String): Unit = real.deleteFile(location)

  override def properties(): java.util.Map[String, String] = real.properties()
}

/**
 * A file whose length a manifest tells. It is looked for only when the cache lacks something of it.
 * Where there is no footer at the end that the manifest tells of, the file is read around the cache,
 * and the store is asked for its length, as Iceberg alone does.
 *
 * @param source the file as the manifest has it
 * @param real the file as the store has it
 */
private final class CachedInputFile(
    source: IcebergFileSource,
    real: InputFile,
    cached: IcebergFileSource => CachedFileStream)
    extends InputFile {

  private def length = source.identity.length

  // Once asked, whether the file is as the manifest says.
  private var isKnown: Option[Boolean] = None

  // Has told it, for the first who wants a stream. Nothing of it is open that was not read for that.
  private var first: Option[CachedFileStream] = None

  override def getLength: Long = synchronized {
    if (isKnown.isEmpty) first = opened()
    // A stream of a file that is not there says so in words that users know.
    if (isKnown.contains(true)) length else Try(real.getLength).getOrElse(length)
  }

  override def newStream(): SeekableInputStream = synchronized {
    val stream = first.orElse(opened())
    first = None
    stream.fold(real.newStream())(new CachedInputStream(_, length))
  }

  /** Opens the file through the cache; none where it is not as the manifest says. */
  private def opened(): Option[CachedFileStream] =
    if (isKnown.contains(false)) None
    else {
      val stream = cached(source)
      isKnown = Some(stream.hasLayout)
      if (!stream.hasLayout) stream.close()
      Option.when(stream.hasLayout)(stream)
    }

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
