package io.oap.spark.optimizer

import org.apache.spark.sql.{classic, functions, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{
  Add,
  And,
  Expression,
  GreaterThan,
  Literal,
  PythonUDF
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.PushVariantIntoScan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.python.BatchEvalPythonExec
import org.apache.spark.sql.types.BooleanType

import io.oap.cache.stats.Figure
import io.oap.spark.CacheSuite
import io.oap.spark.internals.{SparkInternals, SparkVersion}

/** Plans with the cache are no worse than plans without it. */
class PlanSuite extends CacheSuite {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  private def createTables(): Unit = {
    spark
      .range(0, 20000, 1, 4)
      .selectExpr(
        "id",
        "cast(id % 100 as int) as k",
        "cast(id % 7 as string) as s",
        "named_struct('a', id, 'b', cast(id as string)) as n",
        "cast(id % 20 as int) as p")
      .createOrReplaceTempView("source")
    spark.sql("CREATE TABLE fact USING parquet AS SELECT id, k, s, n, p FROM source")
    spark.sql(
      "CREATE TABLE fact_p USING parquet PARTITIONED BY (p) AS SELECT id, k, s, n, p FROM source")
    spark
      .range(0, 100, 1, 2)
      .selectExpr(
        "cast(id as int) as dk",
        "concat('n', id % 10) as name",
        "cast(id % 20 as int) dp")
      .write
      .saveAsTable("dim")
  }

  /**
   * Joins, exchanges, subqueries and reuses of a plan in the order of its operators. What filters a
   * scan while it runs is left out: that is where the cached scan does more.
   */
  private def shape(plan: SparkPlan): Seq[String] = plan match {
    case adaptive: AdaptiveSparkPlanExec => shape(adaptive.executedPlan)
    case stage: QueryStageExec => shape(stage.plan)
    case _: FileSourceScanExec | _: BatchScanExec => Seq("scan")
    // A scan's filter may have been the first to use a broadcast that a join then reuses.
    case ReusedExchangeExec(_, broadcast: BroadcastExchangeLike) => shape(broadcast)
    case reused: ReusedExchangeExec => Seq(s"reused ${reused.child.nodeName}")
    // A V1 scan also shows the scalar subqueries of its filter, and may be the first to use them.
    case reused: ReusedSubqueryExec => shape(reused.child)
    case _ =>
      val here = plan match {
        case join: BaseJoinExec => Seq(s"${join.nodeName} ${join.joinType}")
        case exchange: Exchange => Seq(exchange.nodeName)
        case subquery: BaseSubqueryExec => Seq(subquery.getClass.getSimpleName)
        case _ => Nil
      }
      here ++ plan.subqueries.flatMap(shape) ++ plan.children.flatMap(shape)
  }

  /** Scans that run, however often a plan refers to them. */
  private def scans(plan: SparkPlan): Set[Int] = plan match {
    case adaptive: AdaptiveSparkPlanExec => scans(adaptive.executedPlan)
    case stage: QueryStageExec => scans(stage.plan)
    case reused: ReusedSubqueryExec => scans(reused.child)
    case reused: ReusedExchangeExec => scans(reused.child)
    case scan @ (_: FileSourceScanExec | _: BatchScanExec) => Set(System.identityHashCode(scan))
    case _ => (plan.subqueries ++ plan.children).flatMap(scans).toSet
  }

  /** Same rows, same joins, exchanges and reuses, as many scans; and the scans are cached ones. */
  private def assertPlannedAsAlone(query: => DataFrame): SparkPlan = {
    val (expected, expectedScans) = alone {
      val plan = executed(query)
      (shape(plan), scans(plan).size)
    }
    val plan = executed(query)
    assert(cachedScans(plan).nonEmpty, plan)
    assert(scans(plan).size === expectedScans, plan)
    assert(shape(plan) === expected, plan)
    assert(assertSameRows(query).bytesFromFile === 0, "a warm run read from files")
    plan
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  private val queries = Seq(
    "broadcast join" -> "SELECT name, count(*) FROM fact JOIN dim ON k = dk GROUP BY name",
    "semi join" -> "SELECT count(*) FROM fact WHERE k IN (SELECT dk FROM dim WHERE name = 'n3')",
    "anti join" -> "SELECT count(*) FROM fact WHERE k NOT IN (SELECT dk FROM dim WHERE dk > 50)",
    "exists" ->
      "SELECT count(*) FROM fact WHERE EXISTS (SELECT 1 FROM dim WHERE dk = k AND name = 'n3')",
    "self join" ->
      "SELECT count(a.s) FROM fact a JOIN fact b ON a.id = b.id WHERE a.k < 5",
    "reused exchange" ->
      """SELECT /*+ MERGE(a, b) */ count(*)
        |FROM (SELECT k, count(*) c FROM fact GROUP BY k) a
        |JOIN (SELECT k, count(*) c FROM fact GROUP BY k) b ON a.k = b.k""".stripMargin,
    // Without the hint Spark broadcasts the side that happens to be known first.
    "CTE used twice" ->
      """WITH c AS (SELECT k, sum(id) total FROM fact GROUP BY k)
        |SELECT /*+ MERGE(a, b) */ a.k, b.total FROM c a JOIN c b ON a.k = b.k + 1""".stripMargin,
    "CTE used twice, a condition on columns of both kinds" ->
      """WITH c AS (SELECT k, sum(id) total FROM fact_p WHERE (p = 1 AND k < 50) OR (p = 2 AND k < 10)
        |  GROUP BY k)
        |SELECT /*+ MERGE(a, b) */ a.k, b.total FROM c a JOIN c b ON a.k = b.k + 1""".stripMargin,
    "scalar subquery" -> "SELECT count(*) FROM fact WHERE id > (SELECT avg(id) FROM fact)",
    "scalar subqueries that merge" ->
      """SELECT (SELECT max(id) FROM fact WHERE k = 3), (SELECT sum(id) FROM fact WHERE k = 3),
        |       (SELECT min(p) FROM fact WHERE k = 4)""".stripMargin,
    "same subquery twice" ->
      """SELECT count(*) FROM fact WHERE id > (SELECT avg(id) FROM fact)
        |UNION ALL SELECT count(*) FROM fact WHERE id < (SELECT avg(id) FROM fact)""".stripMargin,
    "static partition pruning" -> "SELECT k, count(*) FROM fact_p WHERE p = 3 GROUP BY k",
    "partition pruning by expression" -> "SELECT count(*) FROM fact_p WHERE p + 1 IN (4, 5)",
    "dynamic partition pruning" ->
      "SELECT name, count(*) FROM fact_p JOIN dim ON p = dp WHERE name = 'n3' GROUP BY name",
    "nested column" -> "SELECT sum(n.a) FROM fact WHERE n.b LIKE '1%'",
    "equal sides, conditions in another order" ->
      """SELECT /*+ MERGE(a, b) */ count(*) FROM fact a JOIN fact b ON a.id = b.id
        |WHERE a.p IN (7, 1, 3) AND b.p IN (3, 7, 1) AND
        |(a.s = '1' OR a.s = '2' AND a.k < 9) AND (b.k < 9 AND b.s = '2' OR b.s = '1')
        |""".stripMargin,
    "scalar subquery with the joins of its query" ->
      """WITH c AS (SELECT dp, sum(f.id) total FROM (SELECT id, k, s FROM fact) f
        |  JOIN (SELECT /*+ REPARTITION(3, id) */ id, k FROM fact_p) g ON f.id = g.id
        |  JOIN dim ON g.k = dk GROUP BY dp)
        |SELECT * FROM c WHERE dp = 3 AND total > (SELECT avg(total) FROM c)""".stripMargin,
    "window" -> "SELECT k, sum(c) OVER (ORDER BY k) FROM (SELECT k, count(*) c FROM fact GROUP BY k)",
    "union" -> "SELECT s FROM fact UNION SELECT name FROM dim",
    "count of everything" -> "SELECT count(*) FROM fact",
    "partition column only" -> "SELECT DISTINCT p FROM fact_p"
  )

  for {
    adaptive <- Seq("true", "false")
    (name, text) <- queries
  } test(s"$name, adaptive execution $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive) {
      assertPlannedAsAlone(sql(text))
    }
  }

  /** What Spark expects of each join and of its sides. */
  private def estimates(plan: LogicalPlan): Seq[(BigInt, Option[BigInt])] =
    plan.collect { case join: Join => Seq(join, join.left, join.right) }.flatten.map { node =>
      (node.stats.sizeInBytes, node.stats.rowCount)
    }

  for (cbo <- Seq("true", "false"); table <- Seq("fact", "fact_p")) {
    test(s"estimated sizes of $table, cost-based optimizer $cbo") {
      sql(s"ANALYZE TABLE $table COMPUTE STATISTICS FOR COLUMNS id, k, p")
      withConf("spark.sql.cbo.enabled" -> cbo, "spark.sql.cbo.joinReorder.enabled" -> cbo) {
        for (filter <- Seq("true", "p = 3", "p = 3 AND k < 10", "k = 5")) {
          val query = s"SELECT name, f.id FROM $table f JOIN dim ON k = dk WHERE $filter"
          val expected = alone(estimates(sql(query).queryExecution.optimizedPlan))
          assert(expected.nonEmpty)
          assert(estimates(sql(query).queryExecution.optimizedPlan) === expected, query)
          assertPlannedAsAlone(sql(query))
        }
      }
    }
  }

  test("join strategy follows the size of the pruned partitions") {
    val query = "SELECT count(*) FROM fact f JOIN fact_p g ON f.id = g.id WHERE g.p = 3"
    val pruned = alone(sql("SELECT * FROM fact_p WHERE p = 3").queryExecution.optimizedPlan.stats)
    withConf("spark.sql.autoBroadcastJoinThreshold" -> (pruned.sizeInBytes + 1).toString) {
      assertPlannedAsAlone(sql(query))
    }
  }

  test("a table of unknown size gets no bloom filter, as in Spark alone") {
    sql("CREATE TABLE unmeasured USING parquet PARTITIONED BY (p) AS SELECT id, k, p FROM source")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertPlannedAsAlone(
        sql("SELECT count(*) FROM unmeasured JOIN dim ON k = dk WHERE name = 'n3'"))
    }
  }

  test("dynamic pruning reaches a data column and drops row groups") {
    spark.range(0, 40000, 1, 1).selectExpr("id", "cast(id / 100 as int) as day").write
      .option("parquet.block.size", "65536")
      .option("parquet.page.size", "4096")
      .saveAsTable("sorted")
    val query = "SELECT count(*) FROM sorted JOIN dim ON day = dk WHERE name = 'n3'"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      assertServed(sql(query))
      val (_, counters) = counting(sql(query).collect())
      assert(counters.get(Figure.ROW_GROUPS_PRUNED) > 0)
    }
  }

  test("batches go through whole-stage code generation") {
    val plan = executed(sql("SELECT k + 1 FROM fact WHERE id > 5"))
    val generated = collect(plan) { case stage: WholeStageCodegenExec => stage }
    assert(generated.exists(_.exists(_.isInstanceOf[ColumnarToRowExec])), plan)
  }

  test("inputFiles and input_file_name") {
    for (table <- Seq("fact", "fact_p"); filter <- Seq("true", "p = 3")) {
      val query = s"SELECT id FROM $table WHERE $filter"
      assert(
        sql(query).inputFiles.toSet === alone(sql(query).inputFiles.toSet),
        query)
    }
    assertServed(
      sql("SELECT input_file_name(), input_file_block_start(), max(k) FROM fact_p GROUP BY 1, 2"))
  }

  test("CACHE TABLE and persist hold what the cached scan gave") {
    sql("CACHE TABLE held AS SELECT k, count(*) c FROM fact GROUP BY k")
    assert(rows(sql("SELECT * FROM held")) ===
      alone(rows(sql("SELECT k, count(*) c FROM fact GROUP BY k"))))
    sql("UNCACHE TABLE held")
    val persisted = sql("SELECT * FROM fact").persist()
    assert(persisted.count() === 20000)
    val plan = executed(sql("SELECT count(*) FROM fact"))
    assert(collect(plan) { case scan: InMemoryTableScanExec => scan }.nonEmpty, plan)
    persisted.unpersist(blocking = true)
  }

  test("views and temporary views") {
    sql("CREATE VIEW v AS SELECT k, id FROM fact WHERE k < 50")
    assertPlannedAsAlone(sql("SELECT count(id) FROM v WHERE k > 10"))
    spark.table("fact_p").createOrReplaceTempView("tv")
    assertPlannedAsAlone(sql("SELECT sum(id) FROM tv WHERE p IN (1, 2)"))
  }

  test("aggregates are pushed down where Spark's V2 source can") {
    withConf(
      "spark.sql.parquet.aggregatePushdown" -> "true",
      "spark.sql.sources.useV1SourceList" -> "") {
      val query = spark.read.parquet(path("warehouse/fact")).selectExpr("max(id)", "count(k)")
      val plan = executed(query)
      assert(cachedScans(plan).exists(_.pushedAggregate.isDefined), plan)
      assert(rows(query) === alone(rows(query)))
    }
  }

  test("no aggregate is pushed into a V1 relation: Spark mistakes columns behind nested ones") {
    spark.range(100).selectExpr(
      "struct(id AS a, id + 1 AS b) AS s",
      "id",
      "if(id < 10, id, null) AS n").write.saveAsTable("nested_first")
    withConf("spark.sql.parquet.aggregatePushdown" -> "true") {
      assertSameRows(spark.table("nested_first").selectExpr("count(n)", "max(id)"))
    }
  }

  test("a join with no key drops all files, one with very many keys still drops row groups") {
    spark.range(0, 40000, 1, 1).selectExpr("id", "cast(id / 10 as int) as day").write
      .option("parquet.block.size", "65536").option("parquet.page.size", "4096")
      .saveAsTable("by_day")
    spark.range(
      0,
      1500).selectExpr("cast(id as int) as dk", "'n' as name").write.saveAsTable("days")
    def none = sql("SELECT count(*) FROM by_day JOIN dim ON day = dk WHERE concat(name, '') = 'x'")
    assert(assertSameRows(none).chunksHit <= 4, "only the dimension is read")
    def many = sql("SELECT count(*) FROM by_day JOIN days ON day = dk WHERE name = 'n'")
    val (_, counters) = counting(assertSameRows(many))
    assert(counters.get(Figure.ROW_GROUPS_PRUNED) > 0)
  }

  test("join keys that are equal without having the same bytes prune nothing") {
    spark.range(0, 2000, 1, 1).selectExpr("-0.0D as zero", "id").write.saveAsTable("zeros")
    spark.sql(
      "CREATE TABLE names (name STRING COLLATE UTF8_LCASE, id BIGINT) USING parquet")
    spark.sql("INSERT INTO names SELECT 'alpha', id FROM range(2000)")
    val keys = "(SELECT * FROM VALUES (0.0D, 'ALPHA', 1) AS v(zero, name, use)"
    spark.sql(s"CREATE TABLE keys AS SELECT zero, name COLLATE UTF8_LCASE AS name, use FROM $keys)")
    for (key <- Seq("zero" -> "zeros", "name" -> "names")) {
      val query = s"SELECT count(*) FROM ${key._2} t JOIN keys k ON t.${key._1} = k.${key._1} " +
        "WHERE k.use = 1"
      assertSameRows(sql(query))
      assert(sql(query).head().getLong(0) === 2000, query)
    }
  }

  test("a condition that the listing of files cannot evaluate stays above the scan") {
    val never = functions.udf(() => false)
    assert(assertSameOutcome(spark.table("fact").filter(never())) === Right(Nil))
    assert(assertSameOutcome(spark.table("fact_p").filter(never() || never())) === Right(Nil))

    def changed = spark.read.parquet(path("warehouse/fact_p")).select("id", "p")
      .filter(functions.to_json(functions.struct("p").withField("q", functions.lit(1))) ===
        """{"p":3,"q":1}""")
    assert(assertSameRows(changed).chunksHit > 0 && changed.count() === 1000)

    // Spark needs a Python to run one: how it is planned shows who evaluates what.
    val table = spark.table("fact_p").queryExecution.analyzed
    def attribute(name: String): Expression = table.output.find(_.name == name).get
    def odd(argument: Expression): Expression =
      PythonUDF("odd", null, BooleanType, Seq(argument), 100, udfDeterministic = true)
    val (p, k) = (attribute("p"), attribute("k"))
    for (condition <- Seq(odd(p), And(odd(p), GreaterThan(p, Literal(3))), odd(Add(p, k)))) {
      val plan = spark.asInstanceOf[classic.SparkSession].sessionState
        .executePlan(Filter(condition, table)).sparkPlan
      assert(plan.exists(_.isInstanceOf[BatchScanExec]), plan)
      assert(plan.collect { case python: BatchEvalPythonExec => python.udfs.size } === Seq(1), plan)
      assert(plan.exists(_.isInstanceOf[FilterExec]), plan)
    }
  }

  test("rules that the session leaves out are left out") {
    sql("ANALYZE TABLE fact_p COMPUTE STATISTICS FOR COLUMNS id, k, p")
    val excluded = Seq(
      SparkVersion.mergeSubqueries.ruleName,
      SparkInternals.prunePartitions.ruleName,
      PushVariantIntoScan.ruleName).mkString(",")
    sql("CREATE TABLE variants USING parquet AS SELECT id, parse_json('{\"a\": 1}') AS v FROM range(9)")
    val merging =
      "SELECT (SELECT max(id) FROM fact WHERE k = 3), (SELECT sum(id) FROM fact WHERE k = 3)"
    val pruning = "SELECT name, f.id FROM fact_p f JOIN dim ON k = dk WHERE p = 3"
    def variants = sql("SELECT variant_get(v, '$.a', 'int') FROM variants")
    def read = executed(variants).collectLeaves().head.schema
    for (isOut <- Seq(true, false))
      withConf("spark.sql.optimizer.excludedRules" -> (if (isOut) excluded else "")) {
        assertPlannedAsAlone(sql(merging))
        def expected = estimates(sql(pruning).queryExecution.optimizedPlan)
        assert(expected === alone(expected))
        assertPlannedAsAlone(sql(pruning))
        withConf("spark.sql.adaptive.enabled" -> "false") {
          assert(read.map(_.dataType) === alone(read.map(_.dataType)))
          assertSameRows(variants)
        }
      }
  }
}
