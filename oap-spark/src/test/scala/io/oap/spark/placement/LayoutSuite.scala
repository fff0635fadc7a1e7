package io.oap.spark.placement

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MapInArrow, MapInPandas}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.monotonically_increasing_id

import io.oap.spark.CacheSuite

/**
 * Scans keep Spark's partitions where it matters which rows a task has. They are planned for a cluster of which the master
 * is real; its executors have joined by name only, so that nothing runs there.
 */
class LayoutSuite extends CacheSuite {
  private val Executors = Seq("1", "2", "3", "4")

  /** Spark's PythonEvalType.SQL_MAP_ARROW_ITER_UDF. */
  private val MapArrowIteratorUdf = 207

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // So many files that each executor surely gets some, whatever their names.
    spark.range(0, 4000, 1, 64).write.parquet(path("numbers"))
    spark.stop()
    spark = newApplication(settings + ("spark.master" -> "local-cluster[0,1,1024]"))
    val directory = Cluster.of(spark.sparkContext).directory
    Executors.foreach(id => directory.executorJoined(id, s"host$id", 1))
  }

  // With a schema, because Spark would find it out by a job.
  private def numbers: DataFrame = spark.read.schema("id LONG").parquet(path("numbers"))

  private def function(plan: LogicalPlan): PythonUDF = PythonUDF(
    "f",
    null,
    plan.schema,
    plan.output,
    MapArrowIteratorUdf,
    udfDeterministic = true)

  private def inArrow(plan: LogicalPlan, isBarrier: Boolean): LogicalPlan =
    MapInArrow(function(plan), plan.output.map(_.newInstance()), plan, isBarrier, None)

  private def inPandas(plan: LogicalPlan, isBarrier: Boolean): LogicalPlan =
    MapInPandas(function(plan), plan.output.map(_.newInstance()), plan, isBarrier, None)

  private def planned(plan: LogicalPlan): SparkPlan =
    spark.sessionState.executePlan(plan).executedPlan

  private def partitions(plan: SparkPlan): Seq[FilePartition] =
    collect(plan) { case scan: BatchScanExec => scan.inputPartitions }.flatten
      .map(_.asInstanceOf[FilePartition])

  private def files(partitions: Seq[FilePartition]) =
    partitions.map(_.files.map(f => (f.urlEncodedPath, f.start, f.length)).toSeq)

  private val functions =
    Map[String, (LogicalPlan, Boolean) => LogicalPlan]("arrow" -> inArrow, "pandas" -> inPandas)

  for ((name, mapped) <- functions; v1 <- Seq("parquet", "")) {
    test(s"a barrier keeps Spark's partitions, $name, ${if (v1.isEmpty) "V2" else "V1"}") {
      withConf("spark.sql.sources.useV1SourceList" -> v1) {
        val filtered = numbers.where("id > 7").queryExecution.analyzed
        val placed = partitions(planned(mapped(filtered, false)))
        assert(placed.map(_.asInstanceOf[PlacedPartition].executor).toSet === Executors.toSet)
        val barrier = planned(mapped(filtered, true))
        assert(cachedScans(barrier).size === 1)
        assert(!partitions(barrier).exists(_.isInstanceOf[PlacedPartition]))
        assert(partitions(barrier).flatMap(_.preferredLocations()) === Nil)
        // Spark's own V2 scan, which makes the same partitions as its V1 scan.
        val own = alone(withConf("spark.sql.sources.useV1SourceList" -> "") {
          partitions(planned(numbers.where("id > 7").queryExecution.analyzed))
        })
        assert(files(partitions(barrier)) === files(own))
        assert(own.length < placed.length)
      }
    }
  }

  test("samples and random numbers keep Spark's partitions") {
    def isPlaced(query: DataFrame): Boolean =
      partitions(query.queryExecution.sparkPlan).exists(_.isInstanceOf[PlacedPartition])
    assert(isPlaced(numbers.where("id > 7")))
    for (part <- numbers.randomSplit(Array(0.8, 0.2), 1)) assert(!isPlaced(part))
    assert(!isPlaced(numbers.sample(0.1, 42)))
    assert(!isPlaced(numbers.where("id > 7").withColumn("row", monotonically_increasing_id())))
    assert(!isPlaced(numbers.where("rand(3) < 0.5")))
  }
}
