package io.oap.spark.sql

import java.io.File
import java.net.URI

import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, CacheSuite}

/** What SQL says that the pool holds is what it holds; and what scans are said to have done. */
class ResidencyTablesSuite extends CacheSuite {
  private def sql(text: String): DataFrame = spark.sql(text)

  private def one(text: String): Row = sql(text).collect() match {
    case Array(row) => row
    case rows => fail(s"$text gives ${rows.mkString("\n")}")
  }

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    sql("CREATE TABLE sales (id BIGINT, v STRING, s STRUCT<a: INT, b: INT>) USING parquet")
    for (_ <- 1 to 2) {
      sql("""INSERT INTO sales
        SELECT id, concat('v', id), named_struct('a', id, 'b', 2) FROM range(0, 1000, 1, 1)""")
    }
    spark.range(0, 100, 1, 1).toDF("x").write.parquet(path("loose"))
  }

  private def pool = CacheControl.localPool().get

  test("nothing is listed of an empty cache") {
    CacheControl.clear(spark)
    for (table <- Seq("chunks", "files", "columns", "tables")) {
      assert(sql(s"SELECT * FROM oap.system.$table").isEmpty, table)
    }
  }

  test("chunks are those of the pool") {
    CacheControl.clear(spark)
    sql("SELECT * FROM sales").collect()
    spark.read.parquet(path("loose")).collect()
    // Two files of four leaf columns, and one of one.
    val row = one("""SELECT count(*), sum(bytes), sum(encoded_bytes), count(DISTINCT path),
      count_if(representation = 'encoded'), count_if(executor_id = 'driver')
      FROM oap.system.chunks""")
    assert(row.getLong(0) === pool.chunks() && pool.chunks() === 9)
    assert(row.getLong(1) === row.getLong(2), "encoded chunks lie as they stand in the file")
    assert(row.getLong(1) <= pool.usedBytes())
    assert(row.toSeq.drop(3) === Seq(3, 9, 9))
    val names = sql("""SELECT DISTINCT column, leaf, row_group FROM oap.system.chunks
      WHERE path NOT LIKE '%loose%' ORDER BY leaf""").collect()
    assert(names.toSeq === Seq(Row("id", 0, 0), Row("v", 1, 0), Row("s", 2, 0), Row("s", 3, 0)))
  }

  test("files, columns and tables sum them up") {
    CacheControl.clear(spark)
    sql("SELECT id, s FROM sales").collect()
    spark.read.parquet(path("loose")).collect()
    val files = sql("SELECT * FROM oap.system.files ORDER BY path").collect()
    assert(files.map(_.getAs[String]("path")).toSeq.sorted ===
      (spark.table("sales").inputFiles ++ spark.read.parquet(path("loose")).inputFiles)
        .map(new org.apache.hadoop.fs.Path(_).toString).toSeq.sorted)
    assert(files.map(_.getAs[Long]("encoded_bytes")).sum ===
      one("SELECT sum(bytes) FROM oap.system.chunks").getLong(0))
    for (file <- files) {
      val local = new java.io.File(new java.net.URI(file.getAs[String]("path")))
      assert(file.getAs[Long]("length") === local.length)
      assert(file.getAs[java.sql.Timestamp]("modified").getTime === local.lastModified)
      val isLoose = file.getAs[String]("table").endsWith("loose")
      assert(file.getAs[Long]("chunks") === (if (isLoose) 1 else 3))
      val share = file.getAs[Double]("share")
      assert(if (isLoose) share === 1.0 else share > 0 && share < 1)
    }
    val columns = sql("SELECT table, column, files, chunks, share FROM oap.system.columns")
    val name = "spark_catalog.default.sales"
    assert(columns.collect().toSeq === Seq(
      Row(s"file:${path("loose")}", "x", 1, 1, 1.0),
      Row(name, "id", 2, 2, 1.0),
      Row(name, "s", 2, 4, 1.0)))
    val table = one(s"SELECT * FROM oap.system.tables WHERE table = '$name'")
    assert(table.getAs[Long]("chunks") === 6)
    assert(table.getAs[Int]("executors") === 1 && table.getAs[Int]("files") === 2)
    assert(table.getAs[Long]("vector_bytes") === 0)
  }

  test("files and tables say what each column takes, and when they were planned to be read") {
    CacheControl.clear(spark)
    val before = System.currentTimeMillis()
    sql("SELECT id, s FROM sales").collect()
    withConf("spark.oap.cache.representation" -> "auto") {
      for (_ <- 1 to 2) sql("SELECT v FROM sales").collect()
    }
    val after = System.currentTimeMillis()
    spark.read.parquet(path("loose")).collect()
    def ofChunks(by: String, condition: String): Map[String, Long] = sql(
      s"SELECT $by, sum(bytes) FROM oap.system.chunks WHERE $condition GROUP BY $by")
      .collect().map(row => row.getString(0) -> row.getLong(1)).toMap
    val files = sql("SELECT * FROM oap.system.files").collect()
    assert(files.length === 3)
    for (file <- files) {
      val path = file.getAs[String]("path")
      val byColumn = file.getAs[Map[String, Long]]("bytes_by_column")
      val isLoose = path.contains("loose")
      assert(byColumn.keySet === (if (isLoose) Set("x") else Set("id", "v", "s")))
      assert(byColumn === ofChunks("column", s"path = '$path'"))
      val planned = file.getAs[java.sql.Timestamp]("last_planned").getTime
      assert(if (isLoose) planned >= after else planned >= before && planned <= after)
    }
    val table = one("SELECT * FROM oap.system.tables WHERE table LIKE '%.sales'")
    assert(table.getAs[Map[String, Long]]("bytes_by_column") ===
      ofChunks("column", "path NOT LIKE '%loose%'"))
    val planned = table.getAs[java.sql.Timestamp]("last_planned").getTime
    assert(planned >= before && planned <= after)
    val v = one("SELECT encoded_bytes + vector_bytes, vector_bytes FROM oap.system.columns " +
      "WHERE column = 'v'")
    assert(v.getLong(1) > 0, "in both representations")
    assert(table.getAs[Map[String, Long]]("bytes_by_column")("v") === v.getLong(0))
  }

  test("the hit ratio of a table and of its files is that of scans, and warming is none") {
    sql("CREATE TABLE fresh USING parquet AS SELECT id AS a, id AS b FROM range(0, 1000, 1, 1)")
    def ratio: Any = {
      val ofTable = one("SELECT hit_ratio FROM oap.system.tables WHERE table LIKE '%.fresh'")
      val ofFile = one("SELECT hit_ratio FROM oap.system.files WHERE table LIKE '%.fresh'")
      assert(ofFile === ofTable, "it has one file")
      ofTable.get(0)
    }
    CacheControl.clear(spark)
    sql("CALL oap.system.warm('fresh')").collect()
    lastExecution
    assert(ratio === null, "nothing was read")
    sql("SELECT a FROM fresh").collect()
    lastExecution
    assert(ratio === 1.0)
    CacheControl.clear(spark)
    sql("SELECT a, b FROM fresh").collect()
    lastExecution
    assert(ratio === 1.0 / 3)
    sql("CALL oap.system.warm('fresh')").collect()
    lastExecution
    assert(ratio === 1.0 / 3)
  }

  test("a share is of the whole table, also where of most files nothing is held") {
    sql("""CREATE TABLE parts USING parquet PARTITIONED BY (p) AS
      SELECT id AS a, id % 7 AS b, id % 4 AS p FROM range(0, 4000, 1, 1)""")
    CacheControl.clear(spark)
    sql("SELECT a FROM parts WHERE p = 1").collect()
    val file = one("SELECT length, share FROM oap.system.files WHERE table LIKE '%.parts'")
    val all = spark.table("parts").inputFiles.map(f => new File(new URI(f)).length)
    assert(all.length === 4)
    val lengths = file.getLong(0).toDouble / all.sum
    def share(table: String): Double =
      one(s"SELECT share FROM oap.system.$table WHERE table LIKE '%.parts'").getDouble(0)
    assert(math.abs(share("tables") - file.getDouble(1) * lengths) < 1e-9)
    assert(math.abs(share("columns") - lengths) < 1e-9)
    // As EXPLAIN says it, in whole percent.
    eventually(timeout(1.minute)) {
      val plan = sql("EXPLAIN FORMATTED SELECT a FROM parts").head().getString(0)
      assert(plan.contains(s"CachedShare: [a: ${math.floor(100 * lengths).toInt} %"), plan)
    }
    sql("SELECT * FROM parts").collect()
    assert(share("tables") === 1.0)
    CacheControl.clear(spark)
    sql("SELECT a FROM parts WHERE p = 1").collect()
    assert(math.abs(share("columns") - lengths) < 1e-9, "also after a query on a part of it")
  }

  test("a share counts what is held in two representations once") {
    CacheControl.clear(spark)
    withConf("spark.oap.cache.representation" -> "auto") {
      for (_ <- 1 to 3) sql("SELECT id FROM sales").collect()
    }
    val row = one("SELECT * FROM oap.system.columns")
    assert(row.getAs[Long]("vector_bytes") > 0)
    assert(row.getAs[Double]("share") === 1.0)
    assert(one("""SELECT count(*) FROM oap.system.chunks
      WHERE representation = 'vector' AND column = 'id'""").getLong(0) === 2)
  }

  test("columns that are not asked for and rows over a limit are not made") {
    sql("SELECT * FROM sales").collect()
    val plan = sql("SELECT path FROM oap.system.chunks LIMIT 1")
    assert(plan.collect().length === 1)
    assert(plan.queryExecution.sparkPlan.toString.contains("LocalTableScan [path#"))
    assert(sql("SELECT count(*) FROM oap.system.chunks").head().getLong(0) === pool.chunks())
  }

  /** The scans of the last executions, when the listener has heard of that many more. */
  private def newScans(before: Long, count: Int): Seq[Row] = eventually(timeout(1.minute)) {
    val rows = sql(s"SELECT * FROM oap.system.scans WHERE execution_id > $before").collect()
    assert(rows.length === count, rows.mkString("\n"))
    rows.toSeq
  }

  private val markers = Iterator.from(1).map(i => path(s"marker-$i"))

  /** Id of an execution of which the listener has heard, as of all before it. */
  private def lastExecution: Long = {
    val marker = markers.next()
    spark.range(1).write.parquet(marker)
    spark.read.parquet(marker).collect()
    eventually(timeout(1.minute)) {
      one(s"SELECT execution_id FROM oap.system.scans WHERE table = 'file:$marker'").getLong(0)
    }
  }

  test("scans say what the SQL tab says") {
    CacheControl.clear(spark)
    val before = lastExecution
    for (_ <- 1 to 2) sql("SELECT id, v FROM sales").collect()
    val scans = newScans(before, 2)
    val (cold, warm) = (scans.head, scans.last)
    for (scan <- Seq(cold, warm)) {
      assert(scan.getAs[String]("table") === "spark_catalog.default.sales")
      assert(scan.getAs[Seq[String]]("columns") === Seq("id", "v"))
      assert(scan.getAs[Long]("rows") === 2000)
      assert(scan.getAs[Long]("bypasses") === 0)
    }
    assert(cold.getAs[Long]("misses") === 4 && cold.getAs[Long]("hits") === 0)
    assert(cold.getAs[Long]("bytes_from_file") > 0)
    assert(warm.getAs[Long]("misses") === 0 && warm.getAs[Long]("hits") === 4)
    assert(warm.getAs[Long]("bytes_from_file") === 0 && warm.getAs[Long]("bytes_from_pool") > 0)
  }

  test("scans of joins, subqueries and writes are listed, those of views of V2 by path") {
    val before = lastExecution
    sql("""SELECT a.id FROM sales a JOIN sales b ON a.id = b.id + 1
      WHERE a.id > (SELECT min(id) FROM sales)""").collect()
    sql(s"CREATE TABLE copied USING parquet AS SELECT x FROM parquet.`${path("loose")}`")
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      spark.read.parquet(path("loose")).collect()
    }
    val tables = newScans(before, 5).map(_.getAs[String]("table"))
    assert(tables.count(_ == "spark_catalog.default.sales") === 3)
    assert(tables.count(_ == s"file:${path("loose")}") === 2, tables)
  }

  test("a scan that is not cached is not listed") {
    val before = lastExecution
    alone(sql("SELECT id FROM sales").collect())
    sql("SELECT v FROM sales").collect()
    assert(newScans(before, 1).head.getAs[Seq[String]]("columns") === Seq("v"))
  }
}
