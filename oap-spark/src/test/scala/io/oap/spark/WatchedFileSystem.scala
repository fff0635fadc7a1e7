package io.oap.spark

import java.io.InterruptedIOException
import java.net.URI
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileStatus, FSDataInputStream, FSInputStream, Path}

import io.oap.testing.FilesWithoutChmod

/** The local file system under the scheme `watched`: tests count, fail and delay its reads. */
class WatchedFileSystem extends FilesWithoutChmod.Raw {
  override def getScheme: String = WatchedFileSystem.Scheme

  override def getUri: URI = URI.create(s"${WatchedFileSystem.Scheme}:///")

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    WatchedFileSystem.opens.incrementAndGet()
    WatchedFileSystem.run(WatchedFileSystem.beforeOpen, path)
    new FSDataInputStream(new WatchedStream(super.open(path, bufferSize), path))
  }

  override def getFileStatus(path: Path): FileStatus = {
    WatchedFileSystem.statusesByPath.merge(path.toString, 1L, java.lang.Long.sum(_, _))
    WatchedFileSystem.run(WatchedFileSystem.beforeStatus, path)
    super.getFileStatus(path)
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    WatchedFileSystem.run(WatchedFileSystem.beforeList, path)
    // Without the owner, whom Hadoop would look up under the scheme "file" only.
    super.listStatus(path).map(file =>
      new FileStatus(
        file.getLen,
        file.isDirectory,
        file.getReplication.toInt,
        file.getBlockSize,
        file.getModificationTime,
        file.getPath))
  }
}

object WatchedFileSystem {
  val Scheme = "watched"

  /** What a session needs to know it. */
  val settings: Map[String, String] =
    Map(s"spark.hadoop.fs.$Scheme.impl" -> classOf[WatchedFileSystem].getName)

  val opens = new AtomicLong
  val bytes = new AtomicLong
  private val bytesByPath = new ConcurrentHashMap[String, java.lang.Long]
  private val statusesByPath = new ConcurrentHashMap[String, java.lang.Long]

  /** Bytes that were read of the files for whose path this is true. */
  def bytesOf(isMeant: String => Boolean): Long = sum(bytesByPath, isMeant)

  /** How many times the status of such files was asked for. */
  def statusesOf(isMeant: String => Boolean): Long = sum(statusesByPath, isMeant)

  private def sum(
      counts: ConcurrentHashMap[String, java.lang.Long],
      isMeant: String => Boolean): Long =
    counts.asScala.collect { case (path, count) if isMeant(path) => count.longValue }.sum

  /** Called with the path before each opening, on the thread that opens. */
  @volatile var beforeOpen: Path => Unit = _ => ()

  /** Called with the path before each read, on the thread that reads. */
  @volatile var beforeRead: Path => Unit = _ => ()

  /** Called with the path before each question for a status, on the thread that asks. */
  @volatile var beforeStatus: Path => Unit = _ => ()

  /** Called with the path before each listing of a folder, on the thread that lists. */
  @volatile var beforeList: Path => Unit = _ => ()

  /** Runs the body with something to happen before each read. */
  def beforeReads[T](action: Path => Unit)(body: => T): T = {
    beforeRead = action
    try body
    finally beforeRead = _ => ()
  }

  /** Runs the body with something to happen before each opening. */
  def beforeOpens[T](action: Path => Unit)(body: => T): T = {
    beforeOpen = action
    try body
    finally beforeOpen = _ => ()
  }

  /** Runs the body with something to happen before each question for a status. */
  def beforeStatuses[T](action: Path => Unit)(body: => T): T = {
    beforeStatus = action
    try body
    finally beforeStatus = _ => ()
  }

  /** Runs the body with something to happen before each listing. */
  def beforeLists[T](action: Path => Unit)(body: => T): T = {
    beforeList = action
    try body
    finally beforeList = _ => ()
  }

  /** An interrupted wait of the test is to its reader what it is in a real file system. */
  private def run(action: Path => Unit, path: Path): Unit =
    try action(path)
    catch {
      case e: InterruptedException =>
        Thread.currentThread().interrupt()
        throw new InterruptedIOException().initCause(e)
    }

  private[spark] def read(path: Path)(read: => Int): Int = {
    run(beforeRead, path)
    val count = read
    bytes.addAndGet(math.max(count, 0).toLong)
    bytesByPath.merge(path.toString, math.max(count, 0).toLong, java.lang.Long.sum(_, _))
    count
  }
}

private class WatchedStream(in: FSDataInputStream, path: Path) extends FSInputStream {
  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  override def read(buffer: Array[Byte], offset: Int, length: Int): Int =
    WatchedFileSystem.read(path)(in.read(buffer, offset, length))

  override def seek(position: Long): Unit = in.seek(position)

  override def getPos: Long = in.getPos

  override def seekToNewSource(target: Long): Boolean = false

  override def close(): Unit = in.close()
}
