package io.oap.spark.read

import org.apache.spark.sql.{classic, DataFrame}
import org.apache.spark.sql.execution.SparkPlan
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, CacheSuite, WatchedFileSystem}
import io.oap.spark.scan.CachedScanExec

/** What the SQL tab shows of a scan is what has happened. */
class MetricsSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings

  private val Columns = 3
  private val RowGroups = 10

  private lazy val table: String = {
    spark.range(0, 5000, 1, 1)
      .selectExpr("id", "id * 3 as b", "concat('text ', id) as s", "id % 7 as unread")
      .write
      .option("parquet.enable.dictionary", "false")
      .options(rowGroupsOf(500))
      .option("parquet.page.size.row.check.min", "500")
      .parquet(path("table"))
    s"watched://${path("table")}"
  }

  private def read(): DataFrame = spark.read
    .schema("id BIGINT, b BIGINT, s STRING, unread BIGINT")
    .parquet(table)
    .select("id", "b", "s")

  private def scan(plan: SparkPlan): SparkPlan =
    collectFirst(plan) { case CachedScanExec(s, _) => s }.get

  private def metrics(query: DataFrame): Map[String, Long] =
    scan(executed(query)).metrics.map { case (name, metric) => name -> metric.value }

  /** What the body reads from files, by the file system's own count. */
  private def bytesRead[T](body: => T): (T, Long) = {
    val before = WatchedFileSystem.bytes.get()
    val result = body
    (result, WatchedFileSystem.bytes.get() - before)
  }

  test("cold and warm scans count what they do") {
    CacheControl.clear(spark)
    assert(read().queryExecution.toRdd.getNumPartitions === 1)
    val (cold, coldBytes) = bytesRead(metrics(read()))
    assert(cold("chunksMissed") === Columns * RowGroups)
    assert(cold("chunksHit") === 0)
    assert(cold("chunksBypassed") === 0)
    assert(cold("bytesFromPool") === 0)
    assert(cold("bytesFromFile") === coldBytes)
    assert(cold("rowGroupsPruned") === 0)
    assert(cold("numOutputRows") === 5000)

    val opens = WatchedFileSystem.opens.get()
    val (warm, warmBytes) = bytesRead(metrics(read()))
    assert(warmBytes === 0)
    assert(WatchedFileSystem.opens.get() === opens, "a hit opened a file")
    assert(warm("chunksHit") === Columns * RowGroups)
    assert(warm("chunksMissed") === 0)
    assert(warm("chunksBypassed") === 0)
    assert(warm("bytesFromFile") === 0)
    assert(warm("loadTime") === 0)
    // All but the footer and the page indexes came from the pool.
    assert(warm("bytesFromPool") > coldBytes / 2)
    assert(warm("bytesFromPool") < coldBytes)
    assert(warm("numOutputRows") === 5000)
  }

  test("a column that was not read before is a miss beside hits") {
    CacheControl.clear(spark)
    metrics(read())
    val more = metrics(spark.read.schema("id BIGINT, unread BIGINT").parquet(table))
    assert(more("chunksHit") === RowGroups)
    assert(more("chunksMissed") === RowGroups)
  }

  test("row groups that filters or join keys rule out") {
    CacheControl.clear(spark)
    metrics(read())
    def some(): DataFrame = read().filter("id BETWEEN 1000 AND 1499")
    val (first, firstBytes) = bytesRead(metrics(some()))
    assert(first("chunksHit") === Columns)
    assert(first("bytesFromFile") === firstBytes, "the page index")
    val filtered = metrics(some())
    assert(filtered("chunksHit") === Columns)
    assert(filtered("bytesFromFile") === 0)
    val keys = spark.range(2000, 2003).toDF("id").filter("id % 2 = 0")
    // As Spark 4.1 has it anyway.
    val retry = "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch"
    val joined = withConf(retry -> "false")(metrics(read().join(keys.hint("broadcast"), "id")))
    assert(joined("rowGroupsPruned") === RowGroups - 1)
    assert(joined("chunksHit") === Columns)
  }

  test("the SQL tab names all metrics and shows their values with units") {
    CacheControl.clear(spark)
    executed(read())
    executed(read())
    // The listener that keeps these figures hears of them on a thread of its own.
    eventually(timeout(1.minute)) {
      val shown = shownOfLast()
      for (metric <- ScanMetrics.all) {
        assert(shown.get(metric.description()).exists(_.isDefined), metric.name())
      }
      assert(shown("column chunks hit").contains((Columns * RowGroups).toString))
      assert(shown("bytes from files").contains("0 B"))
      assert(shown("bytes from the pool").exists(_.matches("""\d+\.\d KiB""")), shown)
      assert(shown("load time, all tasks").contains("0 ms"))
    }
  }

  /** What the SQL tab shows of the scan of the last query, by name. */
  private def shownOfLast(): Map[String, Option[String]] = {
    val store = spark.asInstanceOf[classic.SparkSession].sharedState.statusStore
    val last = store.executionsList().maxBy(_.executionId).executionId
    val values = store.executionMetrics(last)
    val scan = store.planGraph(last).allNodes.find(_.name.startsWith("BatchScan")).get
    scan.metrics.map(metric => metric.name -> values.get(metric.accumulatorId)).toMap
  }

  test("a plan says that the scan is cached") {
    val plan = read().queryExecution.explainString(
      org.apache.spark.sql.execution.ExplainMode.fromString("formatted"))
    assert(plan.contains("Format: parquet, column cache"))
  }
}
