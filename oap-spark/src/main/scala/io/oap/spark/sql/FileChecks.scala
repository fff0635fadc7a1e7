package io.oap.spark.sql

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.AccessDeniedException

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path}
import org.apache.hadoop.security.{AccessControlException, UserGroupInformation}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.util.SerializableConfiguration

import io.oap.spark.read.{HadoopFiles, JoinedPartition}

/** Whether files can be read and are of a format of the cache, found out before anything is done. */
private object FileChecks {

  /** Files without a name of Parquet or ORC that are opened to find out whether a folder has any. */
  private val MostOpened = 100

  /** The last bytes of a Parquet file, with a footer that is encrypted or not. */
  private val Magics = Set("PAR1", "PARE")

  /** The last bytes of an ORC file, but for the very last one. */
  private val OrcMagic = "ORC"

  /** What is wrong with a file; with a reason, the user may not read it. */
  private final case class Fault(path: String, denial: Option[String])

  /**
   * Does something that looks at files.
   *
   * @param where what the user named
   * @throws org.apache.spark.sql.AnalysisException when the user may not, or Spark looks for a schema
   *     where there are no files of the format
   */
  def lookingAt[T](where: String)(look: => T): T =
    try look
    catch {
      case NonFatal(e) if denial(e).isDefined => throw noPermission(where, denial(e).get)
      case NonFatal(e) if noSchema(e, where).isDefined =>
        throw StatusException.noDataFiles(noSchema(e, where).get)
    }

  /** What Spark has found no schema in, if that is what an error is about. */
  private def noSchema(error: Throwable, where: String): Option[String] =
    causes(error).collectFirst {
      case e: SparkThrowable if e.getCondition == "UNABLE_TO_INFER_SCHEMA" => where
      case e: SparkThrowable if e.getCondition == "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER" =>
        e.getMessageParameters.getOrDefault("path", where)
    }

  /**
   * Whether there is a file or folder.
   *
   * @throws org.apache.spark.sql.AnalysisException when the user may not look
   */
  def isThere(path: String, conf: Configuration): Boolean = lookingAt(path) {
    val found = new Path(path)
    // Other than asking whether it exists, this also tells whether the folder may be listed.
    try {
      found.getFileSystem(conf).listStatusIterator(found).hasNext
      true
    } catch { case _: FileNotFoundException => false }
  }

  /**
   * Whether a path that is there is a Parquet or ORC file, or holds any. Also true where that would take
   * long to find out.
   *
   * @throws org.apache.spark.sql.AnalysisException when the user may not look
   */
  def holdsData(path: String, conf: Configuration): Boolean = lookingAt(path) {
    val folder = new Path(path)
    val files = folder.getFileSystem(conf)
    val all = files.listFiles(folder, true)
    var opened = 0
    var isFound = false
    while (!isFound && opened < MostOpened && all.hasNext) {
      val file = all.next()
      val name = file.getPath.getName
      if (!name.startsWith("_") && !name.startsWith(".")) {
        isFound = isNamedData(file.getPath) || {
          opened += 1
          Using.resource(files.open(file.getPath))(endsAsData(_, file.getLen))
        }
      }
    }
    isFound || opened == MostOpened
  }

  /**
   * Opens all files that the tasks of a scan would read, in a job of its own.
   *
   * @throws org.apache.spark.sql.AnalysisException when the user may not read one, or one is of
   *     neither format and the query would fail on it
   */
  def check(
      session: SparkSession,
      partitions: Seq[InputPartition],
      opened: HadoopFiles): Unit = {
    val files = partitions.flatMap(JoinedPartition.filesOf(_).files)
      .map(file => (file.toPath.toString, file.fileSize)).distinct
      .filter { case (_, length) => length > 0 }
    if (files.nonEmpty) {
      val context = session.sparkContext
      val conf = context.broadcast(new SerializableConfiguration(opened.conf))
      val options = new FileSourceOptions(opened.options)
      val (mayBeMissing, mayBeOther) = (options.ignoreMissingFiles, options.ignoreCorruptFiles)
      val faults = context
        .makeRDD(files, math.min(files.size, context.defaultParallelism))
        .flatMap { case (path, length) =>
          faultOf(new Path(path), length, conf.value.value, mayBeMissing, mayBeOther)
        }
        .collect()
      conf.destroy()
      faults.headOption.foreach {
        case Fault(path, Some(reason)) => throw noPermission(path, reason)
        case Fault(path, None) => throw StatusException.noDataFiles(path)
      }
    }
  }

  private def faultOf(
      path: Path,
      length: Long,
      conf: Configuration,
      mayBeMissing: Boolean,
      mayBeOther: Boolean): Option[Fault] = {
    val files = path.getFileSystem(conf)
    try {
      val isData = Using.resource(files.open(path))(in =>
        mayBeOther || isNamedData(path) || endsAsData(in, length))
      if (isData) None else Some(Fault(path.toString, None))
    } catch {
      case e: IOException if denial(e).isDefined => Some(Fault(path.toString, denial(e)))
      // So the local file system says that a file may not be read.
      case e: FileNotFoundException if files.exists(path) =>
        Some(Fault(path.toString, Some(e.getMessage)))
      case _: FileNotFoundException if mayBeMissing => None
    }
  }

  private def isNamedData(path: Path): Boolean =
    path.getName.endsWith(".parquet") || path.getName.endsWith(".orc")

  private def endsAsData(in: FSDataInputStream, length: Long): Boolean = {
    val end = new Array[Byte](4)
    length >= end.length && {
      in.readFully(length - end.length, end)
      val text = new String(end, US_ASCII)
      Magics(text) || text.startsWith(OrcMagic)
    }
  }

  /** Why the user may not, if that is what an error is about. */
  private def denial(error: Throwable): Option[String] =
    causes(error).collectFirst {
      case e @ (_: AccessControlException | _: AccessDeniedException) =>
        String.valueOf(e.getMessage)
    }

  private def causes(error: Throwable): Iterator[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null)

  private def noPermission(where: String, reason: String): Exception =
    StatusException.noPermission(
      where,
      UserGroupInformation.getCurrentUser.getShortUserName,
      reason)
}
