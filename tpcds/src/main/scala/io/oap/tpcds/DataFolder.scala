package io.oap.tpcds

import java.io.IOException
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.Comparator
import java.util.concurrent.{
  ExecutionException,
  Executors,
  Future => JFuture,
  TimeoutException,
  TimeUnit
}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.col

import io.oap.tpcds.storage.StorageClass

/**
 * The generated data of one scale: a folder of Parquet for each table, and one more for the copy of
 * a table that is partitioned. A table's folder has its final name only when it is complete and its
 * rows have been counted, so what a killed generation leaves behind is never read.
 */
final class DataFolder(root: Path, val scale: Double) {
  private val folder = root.toAbsolutePath.resolve(s"sf${DataFolder.scaleName(scale)}")

  private def folderOf(table: TpcdsTable, partitioned: Boolean): Path =
    folder.resolve(if (partitioned) s"${table.name}_by_${partitionOf(table)}" else table.name)

  private def partitionOf(table: TpcdsTable): String =
    table.partitionColumn.getOrElse(
      throw new IllegalArgumentException(s"${table.name} is not partitioned"))

  private def isPartitioned(table: TpcdsTable, partitioned: Boolean): Boolean =
    partitioned && table.partitionColumn.isDefined

  /**
   * Generates those of the tables that are not there yet, as Spark tasks.
   *
   * @param partitioned whether the tables that have a partition column are wanted in that layout
   * @throws java.io.IOException when a table comes out with another number of rows than TPC-DS says
   */
  def complete(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      progress: Progress): Unit = {
    Files.createDirectories(folder)
    val missing = tables
      .map(table => (table, isPartitioned(table, partitioned)))
      .filterNot { case (table, laidOut) => Files.isDirectory(folderOf(table, laidOut)) }
    val jobs = missing.map { case (table, laidOut) => new GenerationJob(spark, table, laidOut) }
    val total = jobs.map(_.tasks).sum
    val start = System.nanoTime()
    def seconds: Long = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start)
    jobs.foldLeft(0) { (before, job) =>
      job.run(done => progress.show(job.step, before + done, total, s"tasks, $seconds s"))
      before + job.tasks
    }
    if (missing.nonEmpty) {
      progress.say(s"generated ${missing.size} tables in $seconds s: $folder")
    }
  }

  /** Makes the tables known to a session, read through a storage class. */
  def register(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      storage: StorageClass): Unit =
    register(spark, tables, partitioned, folder => s"${storage.scheme}://$folder")

  /**
   * Makes the tables known to a session.
   *
   * @param locationOf where the session is to read what lies in a folder of this machine
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
  private final class GenerationJob(spark: SparkSession, table: TpcdsTable, laidOut: Boolean) {
    private val target = folderOf(table, laidOut)
    private val beside = target.resolveSibling(s"${target.getFileName}.unfinished")
    private val chunks = table.chunks(scale)

    val step = s"generating ${target.getFileName}"

    /** Spark tasks of this job: with partitions, one half generates and the other writes. */
    val tasks: Int = if (laidOut) 2 * chunks else chunks

    /** @param report called again and again with the number of finished tasks */
    def run(report: Int => Unit): Unit = {
      DataFolder.delete(beside)
      val thread = Executors.newSingleThreadExecutor()
      try {
        val writing = thread.submit[Unit](() => write())
        while (!DataFolder.isDoneWithin(writing, 500)) report(finishedTasks())
      } finally {
        thread.shutdownNow()
      }
      verify()
      Files.move(beside, target, StandardCopyOption.ATOMIC_MOVE)
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
      if (laidOut) {
        val partition = partitionOf(table)
        // All rows of a partition in one task, so that it becomes one file.
        val gathered = frame.repartition(count, col(partition))
        gathered.write.partitionBy(partition).parquet(beside.toUri.toString)
      } else {
        frame.write.parquet(beside.toUri.toString)
      }
    }

    private def verify(): Unit = {
      val written = spark.read.parquet(beside.toUri.toString).count()
      table.expectedRows(scale).filter(_ != written).foreach { expected =>
        throw new IOException(s"${table.name} has $written rows, TPC-DS says $expected: $beside")
      }
    }
  }
}

object DataFolder {

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

  private[tpcds] def delete(folder: Path): Unit = if (Files.exists(folder)) {
    val paths = Files.walk(folder)
    try paths.sorted(Comparator.reverseOrder[Path]()).forEach(path => Files.delete(path))
    finally paths.close()
  }
}
