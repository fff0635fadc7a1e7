package io.oap.spark.filescan

import org.apache.spark.sql.DataFrame

import io.oap.cache.stats.Figure

/** V1 scans of Parquet tables that are read from vector chunks. */
class FileScanVectorSuite extends FileScanSuite {

  private lazy val flat: String = {
    FlatTypes.rows(spark, 0, 9000).write.options(rowGroupsOf(5000)).parquet(watched("flat"))
    watched("flat")
  }

  private lazy val schema = alone(spark.read.parquet(flat).schema)

  /** A V1 scan, because it has a metadata column. */
  private def read: DataFrame = spark.read.schema(schema).parquet(flat)
    .selectExpr("*", "_metadata.file_name AS file", "_metadata.file_block_start AS start")

  test("all flat types") {
    assertServedByVectors(read)
    for (isOn <- Seq("true", "false"))
      withConf("spark.sql.codegen.wholeStage" -> isOn, "spark.sql.adaptive.enabled" -> "false") {
        assertServedByVectors(read.where("id % 3 = 1"))
      }
    withConf("spark.sql.columnVector.offheap.enabled" -> "true")(assertServedByVectors(read))
  }

  test("conditions drop zones and rows in the scan, and no more than the filter above") {
    assertConditions(read)
    val counters = assertServedByVectors(read.where("id BETWEEN 4200 AND 4300"))
    assert(counters.get(Figure.ROWS_DROPPED) + counters.get(Figure.ZONES_SKIPPED) > 0)
    withConf("spark.sql.parquet.filterPushdown" -> "false") {
      val counters = assertServedByVectors(read.where("id BETWEEN 4200 AND 4300"))
      assert(counters.get(Figure.ROWS_DROPPED) === 0)
    }
  }

  test("files that a task has open twice") {
    assertReadInTurns(read.select("id", "s", "d18", "day", "file"))
    assertReadInTurns(read.where("step <> 2 AND s > 's2'").select("id", "s", "d18", "file"))
    FlatTypes.rows(spark, 0, 18000).write.option("path", watched("turns"))
      .options(rowGroupsOf(5000)).bucketBy(2, "tiny").saveAsTable("turns")
    withConf("spark.sql.sources.bucketing.autoBucketedScan.enabled" -> "false") {
      def bucketed = spark.table("turns").select("id", "s", "d18", "tiny")
      assert(cachedFileScans(executed(bucketed)).head.bucketedScan)
      assertReadInTurns(bucketed)
    }
  }

  test("conditions before which something counts rows drop none") {
    for (query <- Seq[() => DataFrame](
        () => read.where("rand(7) < 0.3 AND step = 3"),
        () => read.where("step = 3 AND rand(7) < 0.3"),
        () => read.selectExpr("*", "rand(5) AS r").where("step = 3"),
        () => read.selectExpr("*", "monotonically_increasing_id() AS m").where("step IN (2, 5)"),
        () => read.sample(0.3, 11).where("step = 3"),
        () => read.where("step = 3").sample(0.3, 11),
        () => read.where("step = 3").selectExpr("*", "monotonically_increasing_id() AS m"),
        () => read.limit(200).where("step = 0")
      )) {
      assertSameRows(query())
      assertRows(rows(query()), alone(rows(query())), "third run")
    }
  }

  test("metadata columns that are called as columns of the files") {
    spark.range(0, 6000, 1, 1).selectExpr("id", "concat('f', id % 3) AS file_name")
      .write.parquet(watched("same"))
    def same = spark.read.schema("id BIGINT, file_name STRING").parquet(watched("same"))
      .selectExpr("id", "file_name AS own", "_metadata.file_name AS file")
    assertServedByVectors(same.where("own = 'f1'"))
    assertServedByVectors(same.where("file LIKE 'part%' AND own <> 'f2'"))
    val file = alone(same.select("file").head().getString(0))
    assertServedByVectors(same.where(s"file = '$file'"))
  }

  test("row numbers") {
    def numbered =
      spark.read.schema(schema).parquet(flat).selectExpr("*", "_metadata.row_index AS number")
    assertServedByVectors(numbered)
    assertServedByVectors(numbered.where("step = 3 AND number % 2 = 0").select("s", "number"))
    assertServedByVectors(numbered.where("number BETWEEN 4990 AND 5010").select("id", "number"))
  }

  test("bucketed tables, partitions, nested columns, columns that files lack") {
    for (name <- Seq("v1", "v2"))
      FlatTypes.rows(spark, 0, 3000).write.option("path", watched(name)).bucketBy(3, "step")
        .sortBy("step", "id").saveAsTable(name)
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertServedByVectors(sql("SELECT count(*), sum(v1.d18), max(v2.s) FROM v1 JOIN v2 " +
        "ON v1.step = v2.step AND v1.id = v2.id WHERE v1.tiny < 30"))
    }
    assertServedByVectors(sql("SELECT * FROM v1 WHERE step = 2 AND s > 's5'"))
    spark.range(
      0,
      6000,
      1,
      1).selectExpr("id", "id % 3 AS p", "array(id) AS l", "struct(id AS a) n")
      .write.partitionBy("p").parquet(watched("parts"))
    def parts =
      spark.read.schema("id BIGINT, l ARRAY<BIGINT>, n STRUCT<a: BIGINT>, none INT, p INT")
        .parquet(watched("parts")).selectExpr("*", "_metadata.file_size AS size")
    assertServedByVectors(parts)
    assertServedByVectors(parts.where("id < 50 AND p = 1 AND n.a > 10").drop("l"))
    assertServedByVectors(parts.where("none IS NULL AND id > 5990"))
  }

  test("a damaged vector chunk") {
    assertDamageIsFound(read.where("step IN (3, 9)"))
  }

  test("files that are missing or no files of Parquet") {
    spark.range(0, 2000, 1, 4).write.parquet(watched("broken"))
    val files = folder.resolve("broken").toFile.listFiles.filter(_.getName.endsWith(".parquet"))
    java.nio.file.Files.writeString(files.head.toPath, "this is not Parquet")
    def broken = spark.read.schema("id BIGINT").parquet(watched("broken"))
      .selectExpr("id", "_metadata.file_name IS NULL AS n")
    for (isIgnored <- Seq("false", "true")) {
      withConf("spark.sql.files.ignoreCorruptFiles" -> isIgnored)(assertSameOutcome(broken))
      withConf("spark.sql.files.ignoreMissingFiles" -> isIgnored) {
        val plans = Seq.fill(2)(broken)
        alone(plans.foreach(_.queryExecution.executedPlan))
        files.last.delete()
        assertSameOutcome(broken)
      }
    }
  }
}

/** Such scans that have little memory. */
class FileScanSmallPoolSuite extends FileScanSuite {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.size" -> "1m")

  test("a pool that is too small for the table") {
    FlatTypes.rows(spark, 0, 30000).write.options(rowGroupsOf(7000)).parquet(watched("large"))
    val schema = alone(spark.read.parquet(watched("large")).schema)
    def large = spark.read.schema(schema).parquet(watched("large"))
      .selectExpr("*", "_metadata.file_name")
    for (representation <- Seq("vector", "auto"); condition <- Seq("true", "step = 30"))
      withConf("spark.oap.cache.representation" -> representation) {
        val expected = alone(rows(large.where(condition)))
        for (run <- 1 to 3) assertRows(rows(large.where(condition)), expected, s"run $run")
      }
  }
}
