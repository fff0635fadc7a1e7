package io.oap.spark.optimizer

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FilterExec

import io.oap.cache.stats.Figure
import io.oap.spark.CacheSuite

/**
 * Where a query can tell which rows a task has, it has those that it has in Spark alone. So conditions
 * that count the rows they are asked for, such as those on random numbers, are asked for the rows that
 * Spark alone asks them for, whatever the pool holds.
 */
class CountedRowsSuite extends CacheSuite {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Row groups of several pages, which Spark passes over page by page.
    spark.range(0, 20000, 1, 2).selectExpr(
      "id",
      "IF(id % 17 = 0, NULL, CAST(id / 500 AS INT)) AS step",
      "IF(id % 5 = 0, NULL, concat('s', id % 97)) AS s",
      "id % 2 AS p")
      .write.options(rowGroupsOf(5000) + ("parquet.page.row.count.limit" -> "500"))
      .partitionBy("p").saveAsTable("flat")
    spark.range(0, 4, 1, 1).selectExpr("CAST(id AS INT) AS k", "concat('n', id) AS name")
      .write.saveAsTable("small")
    spark.udf.register("yes", () => true)
  }

  private def table: DataFrame = spark.table("flat")

  /** What Spark reads in V1, for its metadata column. */
  private def withMetadata: DataFrame = table.selectExpr("*", "_metadata.file_name AS file")

  /** Read in V2 where the session says so. */
  private def files: DataFrame = spark.read.parquet(path("warehouse/flat"))

  private val conditions = Seq(
    "rand(7) < 0.3 AND step = 3",
    "rand(7) < 0.3 AND id BETWEEN 1100 AND 1900",
    "step = 3 AND rand(7) < 0.3",
    "s IS NOT NULL AND rand(7) < 0.3",
    "rand(7) < 0.3 AND p = 1",
    "p = 1 AND rand(7) < 0.3",
    "rand(7) < 0.3 AND p = 1 AND step = 23",
    "monotonically_increasing_id() % 10 = 0 AND id > 4321",
    "rand(7) < 0.5 AND step = (SELECT max(k) FROM small)",
    "rand(7) < 0.5 AND p = (SELECT min(k) FROM small)",
    "rand(7) < 0.5 AND yes()",
    "rand(7) < 0.5"
  )

  /** Cold, while vector chunks are made, and on these. */
  private def assertThreeRuns(query: => DataFrame): Unit = {
    assertSameRows(query)
    assertRows(rows(query), alone(rows(query)), "third run")
  }

  for (isOn <- Seq("true", "false"))
    test(s"conditions that count rows, adaptive execution and generated code $isOn") {
      withConf(
        "spark.sql.adaptive.enabled" -> isOn,
        "spark.sql.codegen.wholeStage" -> isOn) {
        for (condition <- conditions) withClue(s"$condition: ") {
          assertThreeRuns(table.where(condition))
          withClue("metadata: ")(assertThreeRuns(withMetadata.where(condition)))
          withConf("spark.sql.sources.useV1SourceList" -> "") {
            withClue("V2: ")(assertThreeRuns(files.where(condition)))
          }
        }
      }
    }

  test("conditions before which something counts rows") {
    for (query <- Seq[() => DataFrame](
        () => table.selectExpr("*", "rand(5) AS r").where("step = 3"),
        () => table.selectExpr("*", "monotonically_increasing_id() AS m").where("step IN (2, 5)"),
        () => table.sample(0.3, 11).where("step = 3"),
        () => table.where("step = 3").sample(0.3, 11),
        () => table.where("step = 3").selectExpr("*", "monotonically_increasing_id() AS m"),
        () => table.where("step = 3").where("rand(7) < 0.3"),
        () => table.where("rand(7) < 0.3").where("step = 3"),
        () => table.where("rand(7) < 0.3 AND s > 's5'").selectExpr("step + 1 AS n").where("n = 4"),
        () => table.limit(200).where("step = 0"),
        () =>
          table.where("rand(7) < 0.3").join(spark.table("small").where("name = 'n3'"))
            .where("step = k")
      ))
      assertThreeRuns(query())
  }

  test("conditions are asked in Spark's order") {
    def asked(query: DataFrame): Seq[String] =
      collect(query.queryExecution.sparkPlan) { case FilterExec(condition, _) => condition.sql }
    for (v1 <- Seq("parquet", ""))
      withConf("spark.sql.sources.useV1SourceList" -> v1) {
        def query = files.where("rand(7) < 0.5 AND yes()")
        assert(cachedScans(executed(query)).size === 1)
        assert(asked(query) === alone(asked(query)), v1)
      }
  }

  test("conditions drop rows where nothing counts them") {
    for (query <- Seq[() => DataFrame](
        () => table.where("step = 3"),
        () => withMetadata.where("step = 3"),
        () => table.where("step = 3").selectExpr("*", "rand(7) AS r"))) {
      assertThreeRuns(query())
      val (_, counters) = counting(rows(query()))
      assert(counters.get(Figure.ROWS_DROPPED) + counters.get(Figure.ZONES_SKIPPED) > 0)
    }
    assert(cachedScans(executed(table.where("rand(7) < 0.3 AND p = 1"))).size === 1)
  }

  test("tasks have the rows that they have in Spark alone where a query can tell") {
    spark.range(0, 8000, 1, 4).selectExpr(
      "id",
      "repeat(cast(id AS string), 20) AS s",
      "id div 1500 AS p")
      .repartition(3).write.partitionBy("p").saveAsTable("uneven")
    withConf(
      "spark.sql.files.maxPartitionBytes" -> "24k",
      "spark.sql.files.openCostInBytes" -> "1k") {
      for (filter <- Seq("p >= 0", "p > 1")) {
        def read = spark.table("uneven").where(filter)
        assert(read.rdd.getNumPartitions > 4)
        assertServed(read.selectExpr("id", "spark_partition_id()", "rand(7)"))
        assertServed(read.sample(0.1, 42).where("id > 5"))
      }
    }
  }

  test("tasks have these rows where two partitions have the same files") {
    val files = path("shared")
    spark.range(0, 8000, 1, 10).write.parquet(files)
    // Spark lists none of these.
    (1 to 20).foreach(i => new java.io.File(files, s"empty-$i.parquet").createNewFile())
    spark.sql("CREATE TABLE twice (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    for (p <- 1 to 2) spark.sql(s"ALTER TABLE twice ADD PARTITION (p = $p) LOCATION '$files'")
    withConf("spark.sql.files.openCostInBytes" -> "40k") {
      for (columns <- Seq("id, p", "id"))
        assertSameRows(spark.sql(s"SELECT $columns, spark_partition_id(), rand(7) FROM twice"))
    }
  }
}
