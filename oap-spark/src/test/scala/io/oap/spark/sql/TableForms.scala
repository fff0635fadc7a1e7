package io.oap.spark.sql

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.input_file_name

import io.oap.spark.{CacheControl, CacheSuite, OapExtensions, WatchedFileSystem}
import io.oap.spark.filescan.FileScanSuite

/**
 * A kind of table.
 *
 * @param made what stands behind the columns in a statement that makes one
 * @param catalog stands before the name of a table; empty for Spark's own
 */
final case class TableForm(name: String, made: String, catalog: String = "") {

  /** The full name of a table. */
  def table(short: String): String = s"${catalog}db.$short"
}

/** A session that knows tables of every kind that the cache serves, on a file system that counts. */
trait TableForms extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings ++ Map(
      "spark.sql.extensions" -> Seq(
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "io.delta.sql.DeltaSparkSessionExtension",
        classOf[OapExtensions].getName).mkString(","),
      "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
      "spark.databricks.delta.snapshotPartitions" -> "1",
      s"spark.delta.logStore.${WatchedFileSystem.Scheme}.impl" -> "io.delta.storage.LocalLogStore",
      "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
      "spark.sql.catalog.ice.type" -> "hadoop",
      "spark.sql.catalog.ice.warehouse" -> s"${WatchedFileSystem.Scheme}://$folder/ice",
      // Each query is to read them.
      "spark.sql.iceberg.executor-cache.enabled" -> "false",
      "spark.sql.warehouse.dir" -> s"${WatchedFileSystem.Scheme}://$folder/warehouse"
    )

  protected val forms: Seq[TableForm] = Seq(
    TableForm("Parquet", "USING parquet PARTITIONED BY (p)"),
    TableForm(
      "Parquet in buckets",
      "USING parquet PARTITIONED BY (p) CLUSTERED BY (id) INTO 2 BUCKETS"),
    TableForm("ORC", "USING orc PARTITIONED BY (p)"),
    TableForm("Delta", "USING delta PARTITIONED BY (p)"),
    TableForm("Iceberg", "USING iceberg PARTITIONED BY (p)", "ice.")
  )

  protected def form(name: String): TableForm = forms.find(_.name == name).get

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    sql("CREATE DATABASE db")
  }

  protected def sql(text: String): DataFrame = spark.sql(text)

  /** Makes a table of 10,000 rows in two partitions with two files each; returns its full name. */
  protected def made(form: TableForm, short: String, more: String = ""): String = {
    val table = form.table(short.replace(' ', '_') + "_" + form.name.replace(' ', '_'))
    sql(s"CREATE TABLE $table (id BIGINT, v STRING, s STRUCT<x: INT, y: INT>, p INT) " +
      s"${form.made} $more")
    for (from <- Seq(0, 5000))
      // Of ORC's files the last 16 KiB are no chunks: there is to be more that does not compress.
      sql(s"INSERT INTO $table SELECT id, sha2(CAST(id AS STRING), 256), named_struct('x', " +
        "hash(id), 'y', hash(id, 1)), CAST(id % 2 AS INT) " +
        s"FROM range($from, ${from + 5000}, 1, 1)")
    table
  }

  /** Paths of the data files of a table. */
  protected def filesOf(table: String): Seq[String] = alone(
    spark.table(table).select(input_file_name()).distinct().collect().map(_.getString(0)).toSeq)

  /** Bytes of data files that the body read, as the file system counts. */
  protected def bytesOfData(body: => Unit): Long = {
    val before = WatchedFileSystem.bytesOf(FileScanSuite.isData)
    body
    WatchedFileSystem.bytesOf(FileScanSuite.isData) - before
  }

  /** Asserts rows as by Spark alone, none of them read from a file. */
  protected def assertReadsNothing(query: => DataFrame): Unit = {
    val expected = alone(rows(query))
    var counters = new io.oap.cache.stats.CacheCounters
    val bytes = bytesOfData {
      val (found, counted) = counting(rows(query))
      assertRows(found, expected, "after it was warmed")
      counters = counted
    }
    assert(counters.chunksHit > 0 && counters.bytesFromFile === 0)
    assert(bytes === 0, "the file system says")
  }

  protected def total(rows: Seq[Row], column: String): Long = rows.map(_.getAs[Long](column)).sum

  /** Columns of which the pool holds chunks, as the files call them. */
  protected def heldColumns: Set[String] =
    sql("SELECT DISTINCT column FROM oap.system.chunks").collect().map(_.getString(0)).toSet

  /** Columns of which chunks are pinned, as the files call them. */
  protected def pinnedColumns: Set[String] =
    sql("SELECT DISTINCT column FROM oap.system.chunks WHERE pinned").collect()
      .map(_.getString(0)).toSet

  protected def cleared[T](body: => T): T = {
    CacheControl.clear(spark)
    body
  }
}
