package io.oap.spark.sql

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.SparkThrowable
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.plans.logical.CacheTableAsSelect

import io.oap.spark.{CacheControl, CacheSuite, WatchedFileSystem}

/** `oap.system.warm` and `CACHE SELECT`: what is in the pool after them, and what they say. */
class WarmSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    Map("spark.oap.pool.size" -> "16m") ++ WatchedFileSystem.settings

  private def sql(text: String): DataFrame = spark.sql(text)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    sql("CREATE TABLE t (id BIGINT, v STRING, s STRUCT<x: INT, y: INT>, p INT) USING parquet " +
      "PARTITIONED BY (p)")
    sql("INSERT INTO t SELECT id, concat('v', id), named_struct('x', id, 'y', -id), id % 2 " +
      "FROM range(0, 10000, 1, 2)")
    sql("CREATE VIEW some AS SELECT id, v FROM t WHERE p = 1")
    spark.range(0, 100).selectExpr("id", "id AS other").write.parquet(path("folder"))
  }

  private def total(rows: Array[Row], name: String): Long =
    rows.map(_.getAs[Long](name)).sum

  /** What the pool holds by column, after this was done with nothing in it. */
  private def warmed(text: String): Map[String, Long] = {
    CacheControl.clear(spark)
    val (rows, counters) = counting(sql(text).collect())
    assert(counters.chunksHit + counters.chunksMissed + counters.chunksBypassed === 0)
    assert(counters.bytesFromPool + counters.bytesFromFile === 0, "it counts as no query")
    val held = sql("SELECT column, count(*) FROM oap.system.chunks GROUP BY column").collect()
      .map(row => row.getString(0) -> row.getLong(1)).toMap
    assert(total(rows, "loaded_chunks") === held.values.sum)
    assert(total(rows, "present_chunks") === 0 && total(rows, "refused_chunks") === 0)
    assert(rows.forall(_.isNullAt(7)), "there is no why")
    held
  }

  /** Everything this query reads comes from the pool. */
  private def assertWarm(query: => DataFrame): Unit = {
    val (_, counters) = counting(query.collect())
    assert(counters.chunksHit > 0 && counters.bytesFromFile === 0)
  }

  /** Statements fail with this condition, without a job and with the pool as it was. */
  private def assertRefused(text: String, condition: String, words: String*): Unit = {
    val jobs = new AtomicInteger
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit = jobs.incrementAndGet()
    }
    val before = CacheControl.localPool().get.publishes()
    spark.sparkContext.addSparkListener(listener)
    try {
      val e = intercept[Exception with SparkThrowable](sql(text).collect())
      assert(e.getCondition === condition, text)
      words.foreach(word => assert(e.getMessage.contains(word), e.getMessage))
    } finally spark.sparkContext.removeSparkListener(listener)
    assert(CacheControl.localPool().get.publishes() === before)
    assert(jobs.get === 0)
  }

  private val files = 2 * 2

  test("warm loads all columns of a table, once") {
    assert(warmed("CALL oap.system.warm('t')") ===
      Map("id" -> files, "v" -> files, "s" -> 2 * files))
    val again = sql("CALL oap.system.warm('t')").collect()
    assert(total(again, "loaded_chunks") === 0)
    assert(total(again, "present_chunks") === 4 * files)
    assert(again.head.getString(0) === "driver")
    assertWarm(spark.table("t"))
  }

  test("warm loads the columns, partitions and row groups that a query would read") {
    assert(warmed("CALL oap.system.warm(table => 't', columns => array('v', 'S.x'))") ===
      Map("v" -> files, "s" -> files))
    assertWarm(sql("SELECT v, s.x FROM t"))
    assert(warmed("CALL oap.system.warm('t', array('v'), 'p = 1')") === Map("v" -> files / 2))
    assert(warmed("CALL oap.system.warm('t', array('v'), 'id < 5000')") ===
      Map("v" -> files / 2, "id" -> files / 2))
    assert(warmed("CALL oap.system.warm('t', array('v'), 'id < 0')") === Map.empty)
    assert(warmed("CALL oap.system.warm('t', array('v'), '1 > 2')") === Map.empty)
    assert(warmed("CALL oap.system.warm('some')") === Map("id" -> files / 2, "v" -> files / 2))
    assert(warmed(s"CALL oap.system.warm('parquet.`${path("folder")}`', array('other'))").keySet ===
      Set("other"))
  }

  test("CACHE SELECT is the same") {
    assert(warmed("CACHE SELECT v FROM t WHERE id < 5000") ===
      Map("v" -> files / 2, "id" -> files / 2))
    assert(
      warmed("-- a comment\n /* and */ cache /* one */\n select * from t as x where x.p = 0;") ===
        Map("id" -> files / 2, "v" -> files / 2, "s" -> files))
    assertWarm(sql("SELECT * FROM t WHERE p = 0"))
    assert(warmed("CACHE SELECT id + 1 FROM default.t") === Map("id" -> files))
    CacheControl.clear(spark)
    val bound = spark.sql("CACHE SELECT v FROM t WHERE p = :p", Map("p" -> 1)).collect()
    assert(total(bound, "loaded_chunks") === files / 2)
    assert(
      sql("CACHE SELECT v FROM t").columns.toSeq === sql("CALL oap.system.warm('t')").columns.toSeq)
  }

  test("other statements with CACHE stay Spark's") {
    val plan = spark.sessionState.sqlParser.parsePlan("CACHE TABLE c AS SELECT 1")
    assert(plan.isInstanceOf[CacheTableAsSelect])
    sql("CACHE TABLE c SELECT id FROM t")
    assert(spark.catalog.isCached("c"))
    sql("UNCACHE TABLE c")
    for (text <- Seq("CACHE", "CACHE LAZY SELECT 1", "CACHE SELECTED FROM t", "SELECT CACHE")) {
      assert(outcome(sql(text)) === alone(outcome(sql(text))), text)
      assert(outcome(sql(text)).isLeft, text)
    }
  }

  test("what cannot be is refused before anything is done") {
    spark.table("t").collect()
    assertRefused("CALL oap.system.warm('nothing')", "TABLE_OR_VIEW_NOT_FOUND", "nothing")
    assertRefused(
      "CALL oap.system.warm('t', array('w'))",
      "UNRESOLVED_COLUMN.WITH_SUGGESTION",
      "`w`")
    assertRefused("CALL oap.system.warm('t', array())", "OAP_INVALID_ARGUMENT", "one column")
    assertRefused("CALL oap.system.warm('t', filter => 'id <')", "PARSE_SYNTAX_ERROR")
    assertRefused(
      "CALL oap.system.warm('t', filter => 'w = 1')",
      "UNRESOLVED_COLUMN.WITH_SUGGESTION")
    assertRefused(
      "CALL oap.system.warm('t', filter => 'id')",
      "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN")
    assertRefused(
      "CALL oap.system.warm('t', filter => 'id IN (SELECT 1)')",
      "OAP_INVALID_ARGUMENT",
      "subqueries")
    assertRefused("CALL oap.system.warm()", "REQUIRED_PARAMETER_NOT_FOUND")
    assertRefused("CALL oap.system.warm(CAST(NULL AS STRING))", "OAP_INVALID_ARGUMENT")
    sql("CREATE TABLE text (v STRING) USING csv")
    assertRefused("CALL oap.system.warm('text')", "OAP_UNSUPPORTED_TABLE", "text")
    withConf("spark.oap.cache.tables.exclude" -> "t") {
      assertRefused("CALL oap.system.warm('t')", "OAP_NOT_CACHED", "t")
    }
    withConf("spark.oap.cache.enabled" -> "false") {
      assertRefused("CACHE SELECT id FROM t", "OAP_NOT_CACHED", "spark.oap.cache.enabled")
    }
  }

  test("CACHE SELECT of what is not columns of one table is refused") {
    spark.table("t").collect()
    for (query <- Seq(
        "1",
        "id FROM t JOIN some USING (id)",
        "id FROM t ORDER BY id",
        "id FROM t LIMIT 1",
        "id FROM t UNION SELECT 1",
        "DISTINCT id FROM t",
        "id FROM (SELECT id FROM t)",
        "id FROM t WHERE id IN (SELECT 1)",
        "count(*) FROM t GROUP BY id"
      )) {
      assertRefused(s"CACHE SELECT $query", "OAP_UNSUPPORTED_CACHE_SELECT", "WHERE")
    }
    assertRefused("CACHE SELECT id FROM nothing", "TABLE_OR_VIEW_NOT_FOUND")
    assertRefused("CACHE SELECT w FROM t", "UNRESOLVED_COLUMN.WITH_SUGGESTION")
    assertRefused("CACHE SELECT id FROM t WHERE id <", "PARSE_SYNTAX_ERROR")
  }

  test("chunks that find no room are told, with the reason") {
    val huge = path("huge")
    spark.range(0, 4000000, 1, 1).selectExpr("xxhash64(id) AS h", "id % 2 AS b")
      .write.option("parquet.enable.dictionary", "false").parquet(huge)
    CacheControl.clear(spark)
    val row = sql(s"CACHE SELECT * FROM parquet.`$huge`").collect().head
    assert(row.getAs[Long]("refused_chunks") === 1)
    assert(row.getAs[Long]("refused_bytes") > (16 << 20))
    assert(row.getAs[Long]("loaded_chunks") === 1)
    assert(row.getAs[String]("why") === "larger than the pool can ever hold: 1")
  }

  test("a job group that is cancelled ends it") {
    spark.range(0, 1000, 1, 1).write.parquet(path("slow"))
    sql("CREATE TABLE slow (id BIGINT) USING parquet " +
      s"LOCATION '${WatchedFileSystem.Scheme}://${path("slow")}'")
    CacheControl.clear(spark)
    val context = spark.sparkContext
    val isReading = new CountDownLatch(1)
    val isCancelled = new CountDownLatch(1)
    val canceller = new Thread(() => {
      isReading.await()
      context.cancelJobGroup("warm")
      isCancelled.countDown()
    })
    canceller.start()
    context.setJobGroup("warm", "warming", interruptOnCancel = false)
    try {
      // Opened first to see whether it can be read, then to load it.
      val opens = new AtomicInteger
      val e = intercept[Exception](WatchedFileSystem.beforeOpens { _ =>
        if (opens.incrementAndGet() > 1) {
          isReading.countDown()
          isCancelled.await()
        }
      }(sql("CACHE SELECT id FROM slow").collect()))
      assert(e.getMessage.contains("cancelled"), e)
    } finally context.clearJobGroup()
    assert(sql("CACHE SELECT id FROM slow").collect().length === 1)
  }
}
