package io.oap.spark.iceberg

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.execution.{ExplainMode, SparkPlan}
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeLike}
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar._

/** Which scans of Iceberg are cached, and that plans are Iceberg's otherwise. */
class IcebergPlanSuite extends IcebergSuite {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for ((table, more) <- Seq(
        "t" -> "",
        "a" -> "PARTITIONED BY (bucket(4, id))",
        "b" -> "PARTITIONED BY (bucket(4, id))")) {
      sql(s"CREATE TABLE ice.db.$table (id BIGINT, v INT) USING iceberg $more")
      sql(s"INSERT INTO ice.db.$table SELECT id, CAST(id % 10 AS INT) FROM range(1000)")
    }
    sql("DELETE FROM ice.db.t WHERE id = 3")
  }

  test("metadata tables and changelogs are left alone") {
    for (table <- Seq(
        "files",
        "entries",
        "snapshots",
        "history",
        "manifests",
        "partitions",
        "all_data_files",
        "position_deletes",
        "data_files"))
      assert(!isCached(sql(s"SELECT * FROM ice.db.t.$table")), table)
    sql("CALL ice.system.create_changelog_view(table => 'ice.db.t', changelog_view => 'changes')")
    assert(!isCached(spark.table("changes")))
    assertSameRows(sql("SELECT id, _change_type FROM changes"))
  }

  private def exchanges(plan: SparkPlan): Int =
    collect(plan) { case exchange: ShuffleExchangeLike => exchange }.size

  test("joins of tables in equal buckets need no exchange") {
    def query = sql("SELECT a.id, b.v FROM ice.db.a a JOIN ice.db.b b ON a.id = b.id WHERE a.v > 3")
    withConf(
      "spark.sql.sources.v2.bucketing.enabled" -> "true",
      "spark.sql.sources.v2.bucketing.pushPartValues.enabled" -> "true",
      "spark.sql.iceberg.planning.preserve-data-grouping" -> "true",
      "spark.sql.requireAllClusterKeysForCoPartition" -> "false",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1"
    ) {
      assertWarm(query)
      val plan = executed(query)
      assert(icebergScans(plan).size === 2)
      assert(exchanges(plan) === 0)
      assert(alone(exchanges(executed(query))) === 0)
    }
  }

  test("an exchange of equal scans is made once") {
    def query = sql("WITH g AS (SELECT v, count(id) AS n FROM ice.db.t GROUP BY v) " +
      "SELECT x.n, y.n FROM g x JOIN g y ON x.v = y.v")
    def reused = {
      val plan = executed(query)
      collect(plan) { case reused: ReusedExchangeExec => reused }.size
    }
    for (adaptive <- Seq("true", "false"))
      withConf(
        "spark.sql.adaptive.enabled" -> adaptive,
        "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        assert(reused > 0)
        assert(reused === alone(reused))
        assertWarm(query)
      }
  }

  test("an adaptive plan asks Iceberg for partitions as often as without the cache") {
    def query = sql("SELECT count(*) FROM ice.db.t t JOIN ice.db.a a ON t.id = a.id " +
      "JOIN ice.db.b b ON t.v = b.id WHERE a.v = 3 AND b.v < 5")
    // Iceberg broadcasts what tasks need of the table each time.
    def broadcasts: Long = {
      def last = spark.sparkContext.broadcast(0).id
      val before = last
      rows(query)
      last - before
    }
    assertWarm(query)
    // Our own readers have one broadcast more for each scan.
    assert(broadcasts <= alone(broadcasts) + 3)
  }

  test("a runtime filter that leaves files of another format than the plan was made with") {
    sql("CREATE TABLE ice.db.formats (id BIGINT, p INT) USING iceberg PARTITIONED BY (p)")
    sql("INSERT INTO ice.db.formats SELECT id, 0 FROM range(1000)")
    sql("ALTER TABLE ice.db.formats SET TBLPROPERTIES ('write.format.default' = 'orc')")
    sql("INSERT INTO ice.db.formats SELECT id, 1 FROM range(1000)")
    sql("CREATE TABLE ice.db.parts (p INT, name STRING) USING iceberg")
    sql("INSERT INTO ice.db.parts VALUES (0, 'parquet'), (1, 'orc')")
    for {
      adaptive <- Seq("true", "false")
      format <- Seq("parquet", "orc")
    } withConf("spark.sql.adaptive.enabled" -> adaptive) {
      assertSameRows(
        sql("SELECT f.id, f.p FROM ice.db.formats f JOIN ice.db.parts d ON f.p = d.p " +
          s"WHERE d.name = '$format'"))
    }
  }

  test("what is cached is chosen as for other tables") {
    def query = sql("SELECT * FROM ice.db.t")
    assert(isCached(query))
    withConf("spark.oap.cache.enabled" -> "false")(assert(!isCached(query)))
    withConf("spark.oap.cache.formats" -> "parquet")(assert(!isCached(query)))
    withConf("spark.oap.cache.formats" -> "iceberg")(assert(isCached(query)))
    for (pattern <- Seq("db.t", "ice.db.t", "ice.*", s"$folder/ice", s"watched:$folder/ice/db/t"))
      withConf("spark.oap.cache.tables.exclude" -> pattern)(assert(!isCached(query), pattern))
    withConf("spark.oap.cache.tables.include" -> "db.other")(assert(!isCached(query)))
    withConf("spark.oap.cache.tables.include" -> "db.t")(assert(isCached(query)))
    assert(!isCached(sql("SELECT * FROM ice.db.t WITH ('oap.cache' = 'off')")))
    assert(!isCached(sql("SELECT /*+ OAP_CACHE(off) */ v FROM ice.db.t")))
    assert(!isCached(spark.read.option("oap.cache", "off").table("ice.db.t")))
    intercept[AnalysisException](
      sql("SELECT * FROM ice.db.t WITH ('oap.cache' = 'maybe')").collect())
    sql("ALTER TABLE ice.db.t SET TBLPROPERTIES ('oap.cache' = 'off')")
    assert(!isCached(query))
    assert(isCached(sql("SELECT * FROM ice.db.t WITH ('oap.cache' = 'on')")))
    sql("ALTER TABLE ice.db.t UNSET TBLPROPERTIES ('oap.cache')")
    assert(isCached(query))
  }

  test("formats that there are not are a typing error") {
    assert(intercept[Exception](withConf("spark.oap.cache.formats" -> "iceburg")(()))
      .getMessage.contains("iceburg"))
  }

  test("where Parquet's own encryption is set up, Iceberg reads its files itself") {
    withConf("spark.sql.catalog.ice.hadoop.parquet.crypto.factory.class" -> "x") {
      assert(!isCached(sql("SELECT * FROM ice.db.t")))
    }
  }

  test("EXPLAIN, the SQL tab and the system tables tell of a cached scan") {
    rows(sql("SELECT sum(v) FROM ice.db.t"))
    def explained(mode: String) =
      sql("SELECT sum(v) FROM ice.db.t").queryExecution.explainString(
        ExplainMode.fromString(mode))
    assert(explained("simple").contains("(column cache)"))
    // Reports of what executors hold come seconds later.
    eventually(timeout(1.minute)) {
      assert(explained("formatted").contains("CachedShare: [v: 100 %]"))
    }
    val scan = collectLeaves(executed(sql("SELECT sum(v) FROM ice.db.t"))).head
    assert(scan.metrics("chunksHit").value > 0)
    assert(scan.metrics("numSplits").value > 0)
    assert(scan.metrics("resultDataFiles").value > 0)
    val hits = sql("SELECT hits, bytes_from_pool FROM oap.system.executors").head()
    assert(hits.getLong(0) > 0 && hits.getLong(1) > 0)
    val scans = sql("SELECT table, hits FROM oap.system.scans WHERE table = 'ice.db.t'")
    assert(scans.collect().exists(_.getLong(1) > 0))
    assert(sql("SELECT DISTINCT table FROM oap.system.files").collect()
      .map(_.getString(0)).contains("ice.db.t"))
  }

  test("EXPLAIN knows the chunks of a column that files call otherwise") {
    sql("CREATE TABLE ice.db.renamed (id BIGINT, v INT) USING iceberg")
    sql("INSERT INTO ice.db.renamed SELECT id, CAST(id AS INT) FROM range(1000)")
    sql("ALTER TABLE ice.db.renamed RENAME COLUMN v TO w")
    def query = sql("SELECT sum(w) FROM ice.db.renamed")
    for (_ <- 1 to 2) rows(query)
    eventually(timeout(1.minute)) {
      assert(query.queryExecution.explainString(ExplainMode.fromString("formatted"))
        .contains("CachedShare: [w: 100 %]"))
    }
  }

  test("another Iceberg than the one known is left alone") {
    intercept[NoSuchFieldException](PartitionShape.of(classOf[String]))
  }
}
