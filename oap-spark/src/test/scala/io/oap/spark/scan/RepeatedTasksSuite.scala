package io.oap.spark.scan

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{broadcast, col}

import io.oap.spark.ExecutorsSuite

/** What tasks of [[RepeatedTasksSuite]] run; the suite itself cannot be sent to them. */
private object RepeatedTasksSuite {

  /** The executor that runs tasks; there is one at a time. */
  def executor(context: SparkContext): String =
    context.parallelize(Seq(0), 1).map(_ => SparkEnv.get.executorId).first()

  /** The rows of a query, of which one executor dies at once before it gives those of a partition. */
  def rowsWithout(query: DataFrame, executor: String, partition: Int): Array[Row] =
    query.rdd.mapPartitionsWithIndex { (index, rows) =>
      if (index == partition && SparkEnv.get.executorId == executor) Runtime.getRuntime.halt(137)
      rows
    }.collect()
}

/**
 * A task of a scan that runs again gives its readers no other rows, although the executor that ran it
 * first had other chunks. There is one executor; when it dies, another one with an empty pool comes.
 */
class RepeatedTasksSuite extends ExecutorsSuite(1) {
  import RepeatedTasksSuite._

  private val Partitions = 8

  override protected def settings: Map[String, String] = super.settings ++ Map(
    // Or what a task has dealt may be read by one reader.
    "spark.sql.adaptive.localShuffleReader.enabled" -> "false",
    "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> Partitions.toString
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, 40000, 1, 2).selectExpr("id", "id % 100 AS k").write.saveAsTable("fact")
    // Most rows join: vector chunks give these alone, and batches that are decoded go on whole.
    spark.range(0, 100, 1, 1).selectExpr("id AS key", "id % 10 AS digit").write.saveAsTable("dim")
  }

  private def fact: DataFrame = spark.table("fact")

  private def dim: DataFrame = broadcast(spark.table("dim").where("digit > 0"))

  private def joined(left: DataFrame): DataFrame = left.join(dim, col("k") === col("key"))

  private val dealt = Seq[(String, () => DataFrame)](
    "repartition" -> (() => fact.repartition(Partitions)),
    "the hint REPARTITION" -> (() => spark.sql("SELECT /*+ REPARTITION */ * FROM fact")),
    "the hint REBALANCE" -> (() => fact.hint("rebalance"))
  )

  for ((name, left) <- dealt) {
    test(s"rows after the loss of an executor, $name before a join") {
      def query = joined(left()).select("id")
      val expected = alone(rows(query))
      assert(expected.size === 36000)
      // Encoded chunks, and then vector chunks of them.
      for (run <- 1 to 2) assertRows(rows(query), expected, s"run $run")
      val lost = executor(spark.sparkContext)
      val found = rowsWithout(query, lost, Partitions / 2).map(_.toString).toSeq.sorted
      assert(executor(spark.sparkContext) !== lost)
      assert(found.size === expected.size)
      assertRows(found, expected, "with an executor lost")
    }
  }

  /** Columns that the scan of the fact table offers for runtime filtering. */
  private def offered(query: DataFrame): Seq[String] =
    collect(query.queryExecution.sparkPlan) {
      case CachedScanExec(_, scan) if scan.readSchema().fieldNames.contains("k") =>
        scan.filterAttributes().map(_.fieldNames.head).toSeq
    }.flatten

  test("data columns are offered unless rows are dealt by turns below a join") {
    for ((name, left) <- dealt) {
      assert(offered(joined(left())) === Nil, name)
      // The key of a subquery becomes that of a join only later.
      def inSubquery = left().where("k IN (SELECT key FROM dim WHERE digit > 0)")
      assert(offered(inSubquery) === Nil, name)
      // One of the joins is below.
      val again = spark.table("dim").where("digit > 1").select(col("key").as("other"))
      def above = joined(left()).select("id", "k").union(spark.range(2).selectExpr("id", "id AS k"))
      assert(offered(above.join(broadcast(again), col("k") === col("other"))) === Nil, name)
      def both = joined(fact).select("id", "k").repartition(Partitions)
      assert(offered(both.join(broadcast(again), col("k") === col("other"))) === Nil, name)
    }
    for {
      (name, query) <- Seq[(String, DataFrame)](
        "nothing" -> joined(fact),
        "one partition" -> joined(fact.repartition(1)),
        "no shuffle" -> joined(fact.coalesce(1)),
        "by hash" -> joined(fact.repartition(Partitions, col("id"))),
        "by range" -> joined(fact.repartitionByRange(Partitions, col("id"))),
        "rebalanced by hash" -> joined(fact.hint("rebalance", col("id"))),
        "dealt after the join" -> joined(fact).repartition(Partitions),
        "rebalanced after the join" -> joined(fact).hint("rebalance")
      )
    } assert(offered(query) === Seq("k"), name)
  }

  test("none is offered where Spark compares the rows of a task that runs again") {
    withConf(
      "spark.sql.shuffle.orderIndependentChecksum.enabled" -> "true",
      "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch" -> "true") {
      assert(offered(joined(fact.repartition(Partitions, col("id")))) === Nil)
    }
  }
}
