package io.oap.tpcds

import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.tpcds.data.DataFolder
import io.oap.tpcds.storage.StorageClass

/** A whole run on tiny data: both systems in one context, and what is measured of them. */
class MeasurementSuite extends SparkContextSuite {
  private val queries = Seq("q52", "q42")

  override def beforeAll(): Unit = {
    super.beforeAll()
    val data = new DataFolder(MadeData.root.toString, Scale)
    val tables = Queries.tables(queries)
    data.complete(spark, tables, partitioned = false, silent)
    for (session <- Seq(systems.sparkAlone, systems.oap)) {
      data.register(session, tables, partitioned = false, StorageClass.LOCAL)
    }
  }

  test("of two sessions in one context only the second one has the extension") {
    assert(systems.oap.sparkContext eq systems.sparkAlone.sparkContext)
    def cachedScans(session: org.apache.spark.sql.SparkSession): Map[String, Long] = {
      val frame = session.sql("SELECT sum(ss_net_paid) FROM store_sales")
      frame.collect()
      ScanMetrics.of(frame.queryExecution.executedPlan)
    }
    assert(cachedScans(systems.sparkAlone).isEmpty)
    assert(cachedScans(systems.oap).keySet == ScanMetrics.Names.toSet)
  }

  test("metrics of subqueries are summed with those of the query") {
    systems.clearCache()
    val frame = systems.oap.sql(
      "SELECT count(ss_item_sk), (SELECT max(i_current_price) FROM item) FROM store_sales")
    frame.collect()
    val plan = frame.queryExecution.executedPlan
    val all = ScanMetrics.of(plan)("chunksMissed")
    val outer = ScanMetrics.collect(plan) { case scan: BatchScanExec =>
      scan.metrics("chunksMissed").value
    }.sum
    assert(outer > 0 && all > outer)
  }

  test("each query runs on all sides, with the same rows, and warm comes from the pool") {
    val rounds = new Measurement(systems, 2, silent).of(queries)
    assert(rounds.map(_.number) == Seq(0, 0, 1, 1, 1, 2, 2, 2))
    assert(rounds.take(2).map(_.system) == Seq("sparkAlone", "oapCold"))
    assert(rounds.forall(_.queries.map(_.query) == queries))
    assert(rounds.forall(_.differences.isEmpty))
    def runs(side: Side) = {
      val of = rounds.filter(r => r.counts && r.system == side.name)
      assert(of.size == 2 && of.forall(r => r.seconds == r.queries.map(_.seconds).sum))
      assert(of.forall(r => r.fileBytes == r.queries.flatMap(_.fileBytes).sum))
      of.flatMap(_.queries)
    }
    assert(runs(Side.SparkAlone).forall(run => run.scan.isEmpty && run.fileBytes.exists(_ > 0)))
    assert(runs(Side.Cold).forall(_.metric("chunksMissed") > 0))
    assert(runs(Side.Warm).forall(_.metric("chunksHit") > 0))
    assert(runs(Side.Warm).forall(_.metric("chunksMissed") == 0))
    assert(Side.All.flatMap(runs).forall(_.seconds > 0))
  }

  test("a result that differs is reported") {
    // The second system sees another table under the name of the first one's.
    systems.oap.sql("CREATE OR REPLACE TEMP VIEW store_sales AS " +
      "SELECT * FROM default.store_sales WHERE ss_item_sk % 2 = 0")
    try {
      val rounds = new Measurement(systems, 1, silent).of(Seq("q52"))
      assert(rounds.filter(_.differences.nonEmpty).map(r => (r.system, r.number)) ==
        Seq(("oapCold", 0), ("oapCold", 1), ("oapWarm", 1)))
    } finally {
      systems.oap.sql("DROP VIEW store_sales")
    }
  }

  test("a query that the extension does not serve is reported") {
    systems.oap.conf.set("spark.oap.cache.enabled", "false")
    try {
      val rounds = new Measurement(systems, 1, silent).of(Seq("q52"))
      assert(rounds.flatMap(_.differences) ==
        Seq("q52: the extension served none of the scans"))
    } finally {
      systems.oap.conf.unset("spark.oap.cache.enabled")
    }
  }
}
