package io.oap.spark.filescan

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{ExplainMode, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.spark.CacheControl

/** ORC files, read by one of Spark's two scans. */
abstract class OrcScanSuite extends FileScanSuite {

  /** Whether a plan reads ORC files through the cache. */
  protected def isServed(plan: SparkPlan): Boolean

  private def assertServedByOrc(query: => DataFrame): Unit = {
    val cold = assertWarm(query)
    assert(isServed(cold.queryExecution.executedPlan), cold.queryExecution)
  }

  protected val schema: String = "id BIGINT, s STRING, d DECIMAL(20, 3), t TIMESTAMP, " +
    "n STRUCT<a: INT, b: STRING>, l ARRAY<STRING>, m MAP<STRING, INT>, k INT"

  protected def written(codec: String): DataFrame = {
    val files = watched(s"orc-$codec")
    spark.range(0, 20000, 1, 2).selectExpr(
      "id",
      "IF(id % 7 = 0, NULL, concat('s', id % 131)) AS s",
      "CAST(id / 3 AS DECIMAL(20, 3)) AS d",
      "timestamp_seconds(id * 1000) AS t",
      "named_struct('a', CAST(id AS INT), 'b', sha2(CAST(id AS STRING), 256)) AS n",
      "array(concat('x', id), 'y') AS l",
      "map('m', CAST(id AS INT)) AS m",
      "CAST(id % 3 AS INT) AS k"
    ).write.mode("overwrite").partitionBy("k").option("compression", codec)
      .option("orc.stripe.size", "65536").orc(files)
    spark.read.schema(schema).orc(files)
  }

  for (codec <- Seq("none", "snappy", "zlib", "zstd", "lz4", "lzo"))
    test(s"all types, $codec") {
      def files = spark.read.schema(schema).orc(watched(s"orc-$codec"))
      written(codec)
      assertServedByOrc(files)
    }

  test("some columns and rows") {
    written("zstd")
    def files = spark.read.schema(schema).orc(watched("orc-zstd"))
    assertServedByOrc(files.where("id BETWEEN 5000 AND 5100 AND k = 1").select("id", "s"))
    assertServedByOrc(files.groupBy("k").agg("d" -> "sum", "t" -> "max"))
    withConf("spark.sql.orc.enableVectorizedReader" -> "false")(assertServedByOrc(files))
    withConf("spark.sql.codegen.wholeStage" -> "false")(assertServedByOrc(files))
    withConf("spark.oap.cache.formats" -> "parquet")(assert(!isServed(executed(files))))
  }

  test("a file that is replaced while it is read is not cut short") {
    assertNotCutShort("orc", Map("orc.stripe.size" -> "65536"), "id", "s")
  }

  test("a table that is read twice is read once") {
    written("zstd")
    def side = spark.read.schema(schema).orc(watched("orc-zstd")).groupBy("s").count()
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertServedByOrc(side.as("a").join(side.as("b"), "s"))
      assert(executed(side.as("a").join(side.as("b"), "s")).toString.contains("ReusedExchange"))
    }
  }
}

/** The scan that Spark reads ORC files by unless it is told otherwise. */
class OrcV1ScanSuite extends OrcScanSuite {
  override protected def isServed(plan: SparkPlan): Boolean = cachedFileScans(plan).nonEmpty

  test("columns about files") {
    written("zstd")
    def files = spark.read.schema(schema).orc(watched("orc-zstd"))
    assertServedByFiles(files.select("n.b", "l", "_metadata.file_name"))
  }
}

/** Spark's V2 source of ORC files. */
class OrcV2ScanSuite extends OrcScanSuite {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.sources.useV1SourceList" -> "parquet")

  override protected def isServed(plan: SparkPlan): Boolean = orcScans(plan).nonEmpty

  private def orcScans(plan: SparkPlan): Seq[CachedOrcScan] = collectWithSubqueries(plan) {
    case batch: BatchScanExec if batch.scan.isInstanceOf[CachedOrcScan] =>
      batch.scan.asInstanceOf[CachedOrcScan]
  }

  test("EXPLAIN shows the share that is cached") {
    spark.range(1000).selectExpr("id", "id * 2 AS v").write.orc(watched("orc-shown"))
    def files = spark.read.orc(watched("orc-shown"))
    files.collect()
    val shown = files.queryExecution.explainString(ExplainMode.fromString("formatted"))
    assert(shown.contains("orc, column cache") && shown.contains("CachedShare: [id: "), shown)
  }

  test("it is warmed, pinned and cleared by its path") {
    written("zstd")
    val table = s"orc.`${watched("orc-zstd")}`"
    // With a schema: to infer one, the driver reads a footer.
    def files = spark.read.schema(schema).orc(watched("orc-zstd")).where("k = 1").select("id", "l")
    CacheControl.clear(spark)
    val loaded = sql(s"CACHE SELECT id, l FROM $table WHERE k = 1").head()
    assert(loaded.getAs[Long]("loaded_chunks") > 0 && loaded.getAs[Long]("refused_chunks") === 0)
    val expected = alone(rows(files))
    val (found, bytes) = bytesOfData(rows(files))
    assertRows(found, expected, "after it was warmed")
    assert(bytes === 0)
    assert(sql(s"CALL oap.system.pin('$table')").head().getAs[Long]("chunks") > 0)
    sql(s"CALL oap.system.unpin('$table')")
    assert(sql(s"CALL oap.system.clear('$table')").head().getAs[Long]("chunks") > 0)
  }

  test("an aggregate that footers answer is left to Spark") {
    spark.range(1000).write.orc(watched("orc-counted"))
    withConf("spark.sql.orc.aggregatePushdown" -> "true") {
      val count = spark.read.orc(watched("orc-counted")).groupBy().count()
      assert(rows(count) === Seq("[1000]"))
      assert(!isServed(count.queryExecution.executedPlan))
    }
  }
}
