package io.oap.tpcds.data

import java.io.{File, IOException}
import java.nio.file.{Files, Path => LocalPath}
import java.util.Comparator
import java.util.concurrent.{
  ExecutionException,
  Executors,
  Future => JFuture,
  TimeoutException,
  TimeUnit
}

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileStatus, Path}
import org.apache.spark.sql.{DataFrame, DataFrameWriter, Row, SparkSession}
import org.apache.spark.sql.functions.col

import io.oap.tpcds.{Options, Progress}
import io.oap.tpcds.storage.{DataFiles, StorageClass}

/**
 * The generated data of one scale: a folder of Parquet for each table, and one more for the copy of
 * a table that is partitioned. A table's folder has its final name only when it is complete and its
 * rows have been counted, so what a killed generation leaves behind is never read.
 *
 * @param root a folder of this machine, or the URL of one in any file system that Hadoop knows
 */
final class DataFolder(root: String, val scale: Double) extends TpcdsData {
  private[tpcds] val folder: Path =
    new Path(DataFolder.url(root), s"sf${DataFolder.scaleName(scale)}")

  private def folderOf(table: TpcdsTable, partitioned: Boolean): Path =
    new Path(folder, DataFolder.nameOf(table, partitioned))

  private def partitionOf(table: TpcdsTable): String =
    table.partitionColumn.getOrElse(
      throw new IllegalArgumentException(s"${table.name} is not partitioned"))

  private def isPartitioned(table: TpcdsTable, partitioned: Boolean): Boolean =
    partitioned && table.partitionColumn.isDefined

  /** How the files of this folder are written. */
  def layout(spark: SparkSession): ParquetLayout =
    ParquetLayout.read(folder, spark.sparkContext.hadoopConfiguration)

  override def layoutWords(spark: SparkSession): String = layout(spark).words

  override def files(
      spark: SparkSession,
      table: TpcdsTable,
      partitioned: Boolean): Seq[FileStatus] =
    DataFolder.files(spark, folderOf(table, isPartitioned(table, partitioned)))

  /**
   * Generates those of the tables that are not there yet, as Spark tasks, in the layout that the
   * folder has, or Spark's own.
   *
   * @throws java.io.IOException when a table comes out with another number of rows than TPC-DS says
   */
  override def complete(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      progress: Progress): Unit = complete(spark, tables, partitioned, layout(spark), progress)

  /**
   * Completes the tables with files that are written in a certain way.
   *
   * @throws java.io.IOException also when the folder has tables in another layout
   */
  def complete(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      layout: ParquetLayout,
      progress: Progress): Unit = {
    layout.claim(folder, spark.sparkContext.hadoopConfiguration)
    val fs = folder.getFileSystem(spark.sparkContext.hadoopConfiguration)
    def isThere(path: Path): Boolean = fs.exists(path) && fs.getFileStatus(path).isDirectory
    val missing = tables
      .map(table => (table, isPartitioned(table, partitioned)))
      .filterNot { case (table, laidOut) => isThere(folderOf(table, laidOut)) }
    val jobs =
      missing.map { case (table, laidOut) => new GenerationJob(spark, table, laidOut, layout) }
    val total = jobs.map(_.tasks).sum
    val start = System.nanoTime()
    def seconds: Double = (System.nanoTime() - start).toDouble / TimeUnit.SECONDS.toNanos(1)
    val (_, written) = jobs.foldLeft((0, DataFolder.Written(0, 0))) { case ((before, sum), job) =>
      val those =
        job.run(done => progress.show(job.step, before + done, total, f"tasks, $seconds%.0f s"))
      (before + job.tasks, sum + those)
    }
    if (missing.nonEmpty) {
      val cores = spark.sparkContext.defaultParallelism
      progress.say(f"generated ${DataFolder.tables(missing.size)} in $seconds%.0f s: $folder")
      progress.say(
        f"${written.rows}%,d rows, ${written.bytes / 1e6}%.0f MB; each of $cores cores " +
          f"made ${written.rows / seconds / cores}%,.0f rows and " +
          f"${written.bytes / 1e6 / seconds / cores}%.2f MB a second")
    }
  }

  override def register(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      storage: StorageClass): Unit =
    register(spark, tables, partitioned, locationIn(storage)(_))

  private def locationIn(storage: StorageClass)(folder: Path): String =
    if (folder.toUri.getScheme == "file") s"${storage.scheme}://${folder.toUri.getPath}"
    else if (storage == StorageClass.LOCAL) folder.toString
    else throw new Options.Rejected(s"--storage ${storage.scheme} wants data of this machine")

  /**
   * Makes the tables known to a session.
   *
   * @param locationOf where the session is to read what lies in a folder
   */
  def register(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      locationOf: Path => String): Unit = tables.foreach { table =>
    val laidOut = isPartitioned(table, partitioned)
    val partitions = if (laidOut) s"PARTITIONED BY (${partitionOf(table)})" else ""
    val location = locationOf(folderOf(table, laidOut))
    spark.sql(s"DROP TABLE IF EXISTS ${table.name}")
    spark.sql(
      s"CREATE TABLE ${table.name} (${table.ddl}) USING parquet $partitions LOCATION '$location'")
    if (laidOut) spark.sql(s"ALTER TABLE ${table.name} RECOVER PARTITIONS")
  }

  /** The generation of one table: written beside its place, counted, then moved there. */
  private final class GenerationJob(
      spark: SparkSession,
      table: TpcdsTable,
      laidOut: Boolean,
      layout: ParquetLayout) {
    private val target = folderOf(table, laidOut)
    private val beside = target.suffix(".unfinished")
    private val chunks = table.chunks(scale, layout.fileRows)
    private val fs = target.getFileSystem(spark.sparkContext.hadoopConfiguration)

    val step = s"generating ${target.getName}"

    /** Spark tasks of this job: with partitions, one half generates and the other writes. */
    val tasks: Int = if (laidOut) 2 * chunks else chunks

    /** @param report called at the start and again and again with the number of finished tasks */
    def run(report: Int => Unit): DataFolder.Written = {
      report(0)
      fs.delete(beside, true)
      val thread = Executors.newSingleThreadExecutor()
      try {
        val writing = thread.submit[Unit](() => write())
        while (!DataFolder.isDoneWithin(writing, 500)) report(finishedTasks())
      } finally {
        thread.shutdownNow()
      }
      val written = DataFolder.Written(countedRows(), fs.getContentSummary(beside).getLength)
      if (fs.exists(target)) throw new FileAlreadyExistsException(target.toString)
      if (!fs.rename(beside, target)) throw new IOException(s"$beside could not be renamed")
      written
    }

    private def finishedTasks(): Int = {
      val tracker = spark.sparkContext.statusTracker
      val stages =
        tracker.getJobIdsForGroup(step).flatMap(tracker.getJobInfo(_)).flatMap(_.stageIds())
      stages.distinct.flatMap(tracker.getStageInfo(_)).map(_.numCompletedTasks()).sum
    }

    private def write(): Unit = {
      spark.sparkContext.setJobGroup(step, step)
      // Tasks get these copies: this class holds the session, which stays on the driver.
      val (source, sourceScale, count) = (table, scale, chunks)
      val rows = spark.sparkContext
        .parallelize(0 until count, count)
        .flatMap(chunk => source.rows(sourceScale, chunk, count))
      val frame = spark.createDataFrame(rows, table.fileSchema)
      writer(frame, count).options(layout.writeOptions).parquet(beside.toString)
    }

    private def writer(frame: DataFrame, count: Int): DataFrameWriter[Row] =
      if (laidOut) {
        val partition = partitionOf(table)
        // All rows of a partition in one task, so that it becomes one file.
        frame.repartition(count, col(partition)).write.partitionBy(partition)
      } else {
        frame.write
      }

    private def countedRows(): Long = {
      val written = spark.read.parquet(beside.toString).count()
      table.expectedRows(scale).filter(_ != written).foreach { expected =>
        throw new IOException(s"${table.name} has $written rows, TPC-DS says $expected: $beside")
      }
      written
    }
  }
}

object DataFolder {

  /** What was generated; bytes are those of all files. */
  private final case class Written(rows: Long, bytes: Long) {
    def +(other: Written): Written = Written(rows + other.rows, bytes + other.bytes)
  }

  private val Url = "[a-zA-Z][a-zA-Z0-9+.-]*:/.*".r

  private[tpcds] def url(root: String): Path = root match {
    case Url() => new Path(root)
    case _ => new Path("file://" + LocalPath.of(root).toAbsolutePath.normalize)
  }

  /** The folder of a table in its own layout, or in that by its partition column if it has one. */
  private[tpcds] def nameOf(table: TpcdsTable, partitioned: Boolean): String =
    table.partitionColumn.filter(_ => partitioned).fold(table.name)(by => s"${table.name}_by_$by")

  /** The data files below a folder. */
  private[tpcds] def files(spark: SparkSession, below: Path): Seq[FileStatus] = {
    val found = below.getFileSystem(spark.sparkContext.hadoopConfiguration).listFiles(below, true)
    Iterator.continually(found).takeWhile(_.hasNext).map(_.next())
      .filter(file => file.getPath.getName.matches(".*\\.(parquet|orc)"))
      .filter(file => DataFiles.contain(new File(file.getPath.toUri.getPath)))
      .toSeq
  }

  /** How many tables, in words. */
  private[tpcds] def tables(count: Int): String = if (count == 1) "1 table" else s"$count tables"

  /** 1 rather than 1.0. */
  def scaleName(scale: Double): String =
    BigDecimal(scale).bigDecimal.stripTrailingZeros.toPlainString

  private def isDoneWithin(future: JFuture[Unit], millis: Long): Boolean =
    try {
      future.get(millis, TimeUnit.MILLISECONDS)
      true
    } catch {
      case _: TimeoutException => false
      case e: ExecutionException => throw e.getCause
    }

  private[tpcds] def delete(folder: LocalPath): Unit = if (Files.exists(folder)) {
    val paths = Files.walk(folder)
    try paths.sorted(Comparator.reverseOrder[LocalPath]()).forEach(path => Files.delete(path))
    finally paths.close()
  }
}
