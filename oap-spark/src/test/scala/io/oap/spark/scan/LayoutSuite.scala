package io.oap.spark.scan

import org.apache.spark.resource.{ResourceProfile, ResourceProfileBuilder}
import org.apache.spark.sql.{DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.{
  AttachDistributedSequence,
  CatalystSerde,
  LogicalPlan,
  MapInArrow,
  MapInPandas
}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.monotonically_increasing_id
import org.apache.spark.sql.types.LongType

import io.oap.common.FileIdentity
import io.oap.spark.CacheSuite
import io.oap.spark.cluster.Cluster
import io.oap.spark.read.PlacedPartition
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta}

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
    spark.range(0, 4000, 1, 8).selectExpr("id", "2 * id AS twice").write.parquet(path("columns"))
    spark.range(0, 4000, 1, 64).write.orc(path("orc"))
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

  /** What makes a stage special. */
  private case class Special(isBarrier: Boolean = false, profile: Option[ResourceProfile] = None)

  private def inArrow(plan: LogicalPlan, of: Special): LogicalPlan =
    MapInArrow(function(plan), plan.output.map(_.newInstance()), plan, of.isBarrier, of.profile)

  private def inPandas(plan: LogicalPlan, of: Special): LogicalPlan =
    MapInPandas(function(plan), plan.output.map(_.newInstance()), plan, of.isBarrier, of.profile)

  private lazy val kinds = Map(
    "a barrier" -> Special(isBarrier = true),
    "a resource profile" -> Special(profile = Some(new ResourceProfileBuilder().build())))

  private def planned(plan: LogicalPlan): SparkPlan =
    spark.sessionState.executePlan(plan).executedPlan

  private def partitions(plan: SparkPlan): Seq[FilePartition] =
    collect(plan) { case scan: BatchScanExec => scan.inputPartitions }.flatten
      .map(_.asInstanceOf[FilePartition])

  private def files(partitions: Seq[FilePartition]) =
    partitions.map(_.files.map(f => (f.urlEncodedPath, f.start, f.length)).toSeq)

  private val functions =
    Map[String, (LogicalPlan, Special) => LogicalPlan]("arrow" -> inArrow, "pandas" -> inPandas)

  for ((name, mapped) <- functions; v1 <- Seq("parquet", ""); (kind, special) <- kinds) {
    test(s"$kind keeps Spark's partitions, $name, ${if (v1.isEmpty) "V2" else "V1"}") {
      withConf("spark.sql.sources.useV1SourceList" -> v1) {
        val filtered = numbers.where("id > 7").queryExecution.analyzed
        val placed = partitions(planned(mapped(filtered, Special())))
        assert(placed.flatMap(_.asInstanceOf[PlacedPartition].executors).toSet === Executors.toSet)
        val apart = planned(mapped(filtered, special))
        assert(cachedScans(apart).size === 1)
        assert(!partitions(apart).exists(_.isInstanceOf[PlacedPartition]))
        assert(partitions(apart).flatMap(_.preferredLocations()) === Nil)
        // Spark's own V2 scan, which makes the same partitions as its V1 scan.
        val own = alone(withConf("spark.sql.sources.useV1SourceList" -> "") {
          partitions(planned(numbers.where("id > 7").queryExecution.analyzed))
        })
        assert(files(partitions(apart)) === files(own))
        assert(own.length < placed.length)
      }
    }
  }

  for ((kind, special) <- kinds) {
    test(s"$kind has no place in a V1 scan either") {
      // What Spark reads in V1 for its metadata columns.
      val query = numbers.selectExpr("id", "_metadata.file_size AS size").queryExecution.analyzed
      def places(plan: LogicalPlan): Seq[String] = {
        val physical = planned(plan)
        collect(physical) { case scan: FileSourceScanExec => scan }.flatMap(_.inputRDD.partitions)
          .flatMap(_.asInstanceOf[FilePartition].preferredLocations())
      }
      assert(places(inPandas(query, Special())).exists(_.startsWith("executor_")))
      assert(places(inPandas(query, special)) === Nil)
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

  private def sparksOwn(query: => DataFrame): Seq[FilePartition] =
    alone(withConf("spark.sql.sources.useV1SourceList" -> "") {
      partitions(planned(query.queryExecution.analyzed))
    })

  private def delta(file: PartitionedFile, chunk: Long): FileDelta = FileDelta(
    FileIdentity.placementKey(file.toPath.toString, file.fileSize, file.modificationTime),
    Some(FileLayout(Array("id", "twice"), Array(4L), Array(100000, 100000))),
    Array(chunk),
    Array(0L)
  )

  test("the index of pandas on Spark numbers rows alike, whichever columns executors hold") {
    def column(name: String): DataFrame =
      spark.read.schema("id LONG, twice LONG").parquet(path("columns")).select(name)
    val whole = sparksOwn(column("id")).flatMap(_.files).zipWithIndex
    // Each holds one column of two files, and the other column of two files that are not the same.
    for ((executor, place) <- Executors.zipWithIndex) {
      val held = whole.collect {
        case (file, i) if i % 4 == place => delta(file, if (i / 2 == place) 3L else 1L)
        case (file, i) if i / 2 == place => delta(file, 2L)
      }
      Cluster.of(spark.sparkContext).directory
        .accept(ResidencyDelta(executor, 0, 1, held, 1L << 30, 400000))
    }
    def placed(name: String) = partitions(planned(column(name).queryExecution.analyzed))
    assert(placed("id").forall(_.isInstanceOf[PlacedPartition]))
    assert(files(placed("id")) !== files(placed("twice")))
    for (name <- Seq("id", "twice")) {
      val index = AttributeReference("index", LongType, nullable = false)()
      val plan = planned(AttachDistributedSequence(index, column(name).queryExecution.analyzed))
      assert(cachedScans(plan).size === 1)
      assert(!partitions(plan).exists(_.isInstanceOf[PlacedPartition]))
      assert(files(partitions(plan)) === files(sparksOwn(column(name))))
    }
  }

  test("an RDD of objects keeps Spark's partitions") {
    def query = numbers.where("id > 7")
    val own = sparksOwn(query).length
    assert(partitions(query.queryExecution.sparkPlan).length > own)
    assert(query.rdd.getNumPartitions === own)
    val longs = query.as(Encoders.scalaLong)
    val mapped = longs.map((id: Long) => id + 1)(Encoders.scalaLong)
    assert(mapped.rdd.getNumPartitions === own)
    assert(longs.filter((id: Long) => id % 3 == 0).rdd.getNumPartitions === own)
    assert(mapped.filter((id: Long) => id % 3 == 0).rdd.getNumPartitions === own)
    // What an RDD is made of, which would wait for the subqueries.
    def merging = numbers.where(
      "id BETWEEN (SELECT min(id) FROM numbers) AND (SELECT max(id) FROM numbers)")
    numbers.createOrReplaceTempView("numbers")
    val objects = planned(CatalystSerde.deserialize[Row](merging.queryExecution.analyzed)(
      ExpressionEncoder(merging.schema)))
    assert(partitions(objects).length === own)
  }

  test("scans of ORC files keep Spark's partitions, which have places where they may") {
    withConf("spark.sql.sources.useV1SourceList" -> "parquet") {
      def orc = spark.read.schema("id LONG").orc(path("orc")).where("id > 7")
      def plan = orc.queryExecution.analyzed
      val own = alone(partitions(planned(plan)))
      val placed = partitions(planned(inPandas(plan, Special())))
      assert(files(placed) === files(own))
      assert(placed.forall(one =>
        one.asInstanceOf[PlacedPartition].executors.exists(Executors.contains(_))))
      assert(placed.forall(_.preferredLocations().exists(_.startsWith("executor_"))))
      assert(orc.rdd.getNumPartitions === own.length)
      for ((kind, special) <- kinds) {
        val apart = partitions(planned(inPandas(plan, special)))
        assert(files(apart) === files(own), kind)
        assert(apart.flatMap(_.preferredLocations()) === Nil, kind)
      }
    }
  }
}
