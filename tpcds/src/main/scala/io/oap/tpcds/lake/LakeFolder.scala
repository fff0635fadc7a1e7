package io.oap.tpcds.lake

import java.io.IOException

import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.{col, rtrim}

import io.oap.tpcds.{Options, Progress}
import io.oap.tpcds.data.{DataFolder, ParquetLayout, TpcdsData, TpcdsTable}
import io.oap.tpcds.storage.{Pace, StorageClass}

/**
 * The tables of one scale in another form than Parquet: a folder for each. A finished table has a file
 * beside it that says so; what a killed job leaves behind is made anew.
 *
 * @param parquet what they are made from, file by file
 */
final class LakeFolder(parquet: DataFolder, form: LakeForm) extends TpcdsData {

  private val folder = new Path(parquet.folder, form.word)

  if (folder.toUri.getScheme != "file") {
    throw new Options.Rejected(s"--form ${form.word} wants data of this machine")
  }

  override def layoutWords(spark: SparkSession): String = s"${form.word}, files of the tables in " +
    s"${parquet.layoutWords(spark)}, written anew with codec snappy"

  override def files(
      spark: SparkSession,
      table: TpcdsTable,
      partitioned: Boolean): Seq[FileStatus] =
    DataFolder.files(spark, folderOf(table, partitioned))

  override def register(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      storage: StorageClass): Unit = tables.foreach { table =>
    form.register(spark, table, folderOf(table, partitioned), partitionOf(table, partitioned))
  }

  override def complete(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      progress: Progress): Unit = {
    val fs = folder.getFileSystem(spark.sparkContext.hadoopConfiguration)
    val missing = tables.filterNot(table => fs.exists(doneFile(folderOf(table, partitioned))))
    parquet.complete(spark, missing, partitioned = false, progress)
    Pace.limitThisJvm(false)
    try missing.zipWithIndex.foreach { case (table, done) =>
        val target = folderOf(table, partitioned)
        progress.show(s"making ${form.word} ${target.getName}", done, missing.size, "tables")
        make(LakeFolder.sessionOf(spark), table, partitioned, fs)
      }
    finally Pace.limitThisJvm(true)
    if (missing.nonEmpty) progress.say(s"made ${DataFolder.tables(missing.size)}: $folder")
  }

  private def folderOf(table: TpcdsTable, partitioned: Boolean): Path =
    new Path(folder, DataFolder.nameOf(table, partitioned))

  private def partitionOf(table: TpcdsTable, partitioned: Boolean): Option[String] =
    table.partitionColumn.filter(_ => partitioned)

  private def doneFile(table: Path): Path = table.suffix(".made")

  private def make(
      session: SparkSession,
      table: TpcdsTable,
      partitioned: Boolean,
      fs: FileSystem): Unit = {
    val (target, partition) = (folderOf(table, partitioned), partitionOf(table, partitioned))
    fs.delete(target, true)
    val source = rows(session, table)
    val name = form.make(laidOut(source, table, partition), target, partition)
    val deleted = LakeFolder.deleted(table)
    val isDeletedFrom = form.isDeletedFrom && table.partitionColumn.isDefined
    if (isDeletedFrom) session.sql(s"DELETE FROM $name WHERE $deleted")
    val expected = (if (isDeletedFrom) source.where(s"NOT ($deleted)") else source).count()
    val made = session.sql(s"SELECT count(*) FROM $name").head().getLong(0)
    if (made != expected) {
      throw new IOException(s"$name has $made rows instead of $expected")
    }
    fs.create(doneFile(target)).close()
  }

  private def rows(session: SparkSession, table: TpcdsTable): DataFrame = {
    val source = session.read.parquet(new Path(parquet.folder, table.name).toString)
    val trimmed = if (form.keepsPadding) Set.empty[String] else table.paddedColumns
    source.select(table.columnNames.map(name =>
      if (trimmed.contains(name)) rtrim(col(name)).as(name) else col(name)): _*)
  }

  /** All rows of a partition in one task, so that they become one file, as in Parquet's layout. */
  private def laidOut(
      rows: DataFrame,
      table: TpcdsTable,
      partition: Option[String]): DataFrame = partition match {
    case Some(column) =>
      rows.repartition(
        table.chunks(parquet.scale, ParquetLayout.Default.fileRows),
        col(column))
    case None => rows
  }
}

private object LakeFolder {
  private val DeletedPercent = 3

  /** A session whose tasks read a file each, so that each writes the file of one. */
  def sessionOf(spark: SparkSession): SparkSession = {
    val session = spark.newSession()
    val most = session.conf.get("spark.sql.files.maxPartitionBytes")
    session.conf.set("spark.sql.files.openCostInBytes", most)
    session
  }

  /** A condition that holds for a few rows of each file, always for the same. */
  private def deleted(table: TpcdsTable): String =
    s"pmod(xxhash64(${table.columnNames.mkString(", ")}), 100) < $DeletedPercent"
}
