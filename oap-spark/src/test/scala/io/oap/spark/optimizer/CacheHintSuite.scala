package io.oap.spark.optimizer

import org.apache.spark.sql.DataFrame
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, CacheSuite, LogLines}

/** The hint OAP_CACHE, and what EXPLAIN says of what is cached. */
class CacheHintSuite extends CacheSuite {

  private def sql(text: String): DataFrame = spark.sql(text)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    sql("CREATE TABLE t (id BIGINT, v STRING) USING parquet")
    sql("INSERT INTO t SELECT id, concat('v', id) FROM range(0, 1000, 1, 1)")
    sql("CREATE TABLE u (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    sql("INSERT INTO u SELECT id, id % 4 FROM range(0, 1000, 1, 1)")
    sql("CREATE VIEW view AS SELECT id FROM t")
  }

  /** How many scans of a query read through the cache, and that its rows are as ever. */
  private def cached(text: String): Int = {
    val query = sql(text)
    assertRows(rows(query), alone(rows(sql(text.replaceAll("/\\*\\+.*?\\*/", "")))), text)
    cachedScans(query.queryExecution.executedPlan).size
  }

  test("off reads without the cache, whatever stands in the query") {
    assert(cached("SELECT id FROM t") === 1)
    for (text <- Seq(
        "SELECT /*+ OAP_CACHE(off) */ id FROM t",
        "SELECT /*+ oap_cache('OFF') */ id FROM t AS x WHERE x.id > 5 ORDER BY x.v",
        "SELECT /*+ OAP_CACHE(off) */ a.id FROM t a JOIN t b ON a.id = b.id",
        "SELECT /*+ OAP_CACHE(off), BROADCAST(b) */ a.id FROM t a JOIN u b USING (id)",
        "SELECT /*+ OAP_CACHE(off) */ count(*), max(v) FROM t GROUP BY id HAVING max(v) > 'v5' " +
          "ORDER BY count(*), max(v)",
        "SELECT /*+ OAP_CACHE(off) */ id FROM view",
        "SELECT /*+ OAP_CACHE(off) */ id FROM (SELECT id FROM t WHERE id IN (SELECT p FROM u))",
        "SELECT /*+ OAP_CACHE(off) */ (SELECT max(id) FROM u) AS m, id FROM t",
        "SELECT /*+ OAP_CACHE(off) */ id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)"
      )) {
      assert(cached(text) === 0, text)
    }
  }

  test("it is for its own query block, and an inner one counts more") {
    assert(cached("SELECT id FROM t UNION ALL SELECT /*+ OAP_CACHE(off) */ id FROM t") === 1)
    assert(cached("SELECT /*+ OAP_CACHE(off) */ a.id FROM t a JOIN " +
      "(SELECT /*+ OAP_CACHE(on) */ id FROM u) b ON a.id = b.id") === 1)
    assert(
      cached(
        "SELECT /*+ OAP_CACHE(off) */ id FROM t WITH ('oap.cache' = 'on')") === 1,
      "the option")
    withConf("spark.oap.cache.tables.exclude" -> "t") {
      assert(cached("SELECT /*+ OAP_CACHE(on) */ id FROM t") === 1)
    }
  }

  for (v1 <- Seq("parquet", "")) {
    test(s"from Scala, on paths, with useV1SourceList='$v1'") {
      withConf("spark.sql.sources.useV1SourceList" -> v1) {
        val path = spark.table("t").inputFiles.head
        val read = spark.read.parquet(path)
        assert(cachedScans(executed(read)).size === 1)
        assert(cachedScans(executed(read.hint("OAP_CACHE", "off"))).isEmpty)
        assert(cached(s"SELECT /*+ OAP_CACHE(off) */ id FROM parquet.`$path`") === 0)
      }
    }
  }

  test("pinned pins") {
    CacheControl.clear(spark)
    sql("SELECT /*+ OAP_CACHE(pinned) */ id FROM t").collect()
    assert(sql("SELECT column FROM oap.system.chunks WHERE pinned").collect().map(_.getString(0))
      .toSeq === Seq("id"))
    CacheControl.clear(spark)
  }

  test("other words are warned about, and ignored") {
    for ((word, shown) <- Seq("perhaps" -> "perhaps", "off, on" -> "off, on", "" -> "")) {
      var found = 0
      val parentheses = if (word.isEmpty) "" else s"($word)"
      val lines = LogLines.of {
        found = cached(s"SELECT /*+ OAP_CACHE$parentheses */ id FROM t")
      }
      assert(found === 1)
      assert(
        lines.exists(_ ==
          s"The hint OAP_CACHE takes one word, on, off or pinned; '$shown' is ignored."),
        lines)
    }
  }

  private def shares(query: DataFrame): Option[String] = {
    val plan = query.queryExecution.explainString(
      org.apache.spark.sql.execution.ExplainMode.fromString("formatted"))
    "CachedShare: (.*)".r.findFirstMatchIn(plan).map(_.group(1))
  }

  test("EXPLAIN FORMATTED names the cached share by column") {
    CacheControl.clear(spark)
    def all = sql("SELECT * FROM t")
    eventually(timeout(1.minute))(assert(shares(all) === Some("[id: 0 %, v: 0 %]")))
    val same = all
    shares(same)
    sql("SELECT id FROM t").collect()
    // A plan that is shown again tells what is cached now, or soon.
    eventually(timeout(1.minute))(assert(shares(same) === Some("[id: 100 %, v: 0 %]")))
    assert(shares(all) === Some("[id: 100 %, v: 0 %]"))
    all.collect()
    eventually(timeout(1.minute))(assert(shares(all) === Some("[id: 100 %, v: 100 %]")))
    sql("SELECT id FROM u WHERE p = 1").collect()
    eventually(timeout(1.minute))(assert(
      shares(sql("SELECT id FROM u WHERE p = 1")) === Some("[id: 100 %]")))
    val some = shares(sql("SELECT id, p FROM u")).get
    assert(some.matches("""\[id: 2\d %\]"""), some)
    assert(shares(sql("SELECT p FROM u GROUP BY p")) === None)
    withConf("spark.oap.cache.representation" -> "vector") {
      CacheControl.clear(spark)
      all.collect()
      eventually(timeout(1.minute))(assert(shares(all) === Some("[id: 100 %, v: 100 %]")))
    }
    CacheControl.clear(spark)
  }
}
