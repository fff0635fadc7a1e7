package io.oap.tpcds

/** What is counted of a plan that has been run. */
class PlanStepsSuite extends SparkContextSuite {

  private def steps(sql: String): Map[String, Long] = {
    val frame = spark.sql(sql)
    frame.collect()
    PlanSteps.of(frame.queryExecution.executedPlan)
  }

  override def beforeAll(): Unit = {
    super.beforeAll()
    val folder = root.resolve("numbers").toString
    spark.range(0, 1000, 1, 2).selectExpr("id", "id % 10 AS k").write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("numbers")
  }

  test("scans, exchanges and joins are counted by kind, in subqueries too") {
    val counted = steps(
      "SELECT a.k, count(*) FROM numbers a JOIN numbers b ON a.id = b.id " +
        "WHERE a.k < (SELECT max(k) FROM numbers) GROUP BY a.k")
    assert(counted ==
      Map("scans" -> 3, "broadcasts" -> 1, "broadcast joins" -> 1, "shuffles" -> 2))
    val merged = steps(
      "SELECT /*+ MERGE(a, b) */ count(*) FROM numbers a JOIN numbers b ON a.id = b.k")
    assert(merged("sort-merge joins") == 1 && !merged.contains("broadcast joins"))
  }

  test("what is reused counts once") {
    val sum = "SELECT k, sum(id) AS s FROM numbers GROUP BY k"
    val reused = steps(s"SELECT /*+ MERGE(x, y) */ * FROM ($sum) x JOIN ($sum) y ON x.s = y.s")
    val other = sum.replace("numbers", "numbers WHERE id > 7")
    val apart = steps(s"SELECT /*+ MERGE(x, y) */ * FROM ($sum) x JOIN ($other) y ON x.s = y.s")
    assert(reused("scans") == 1 && apart("scans") == 2)
    assert(PlanSteps.difference(reused, apart) == "scans 1 -> 2, shuffles 2 -> 4")
    assert(PlanSteps.difference(reused, reused).isEmpty)
  }
}
