package io.oap.spark.cluster

import org.apache.spark.SparkEnv
import org.apache.spark.sql.functions.sum
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, ChunkInPool, ExecutorsSuite}

/**
 * Executors that are told to leave, by the signal that a machine sends which is about to go, and
 * one that comes for it, and one that Spark gives no tasks any more.
 */
class DecommissionSuite extends ExecutorsSuite(DecommissionSuite.Executors) {
  import DecommissionSuite.Executors

  private val Files = 24
  private val WaitSeconds = 60

  override protected def settings: Map[String, String] =
    super.settings +
      ("spark.decommission.enabled" -> "true") +
      // Then the leaving executor takes in no blocks any more.
      ("spark.storage.decommission.enabled" -> "true") +
      ("spark.oap.cache.representation" -> "vector") +
      // Long enough for a loaded machine to look at it in peace.
      ("spark.oap.cache.handOver" -> "20s") +
      ("spark.excludeOnFailure.enabled" -> "true") +
      ("spark.excludeOnFailure.application.maxFailedTasksPerExecutor" -> "1") +
      // Whoever waits for an executor in vain is seen to.
      ("spark.locality.wait" -> s"${WaitSeconds}s")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, 240000, 1, Files)
      .selectExpr("id", "id % 1000 AS k", "concat('name ', id % 77) AS s")
      .write.parquet(path("t"))
    spark.range(0, 2000, 1, 2).selectExpr("id % 10 AS k").write.parquet(path("u"))
  }

  private def query = spark.read.parquet(path("t")).groupBy("s").agg(sum("k"), sum("id"))

  private def warm(): Unit = for (_ <- 1 to 3) query.collect()

  private def chunksOf(executors: Iterable[String]): Set[ChunkInPool] = {
    val held = CacheControl.held(spark)
    executors.flatMap(id => held.get(id).toSeq.flatMap(_.chunks.keys)).toSet
  }

  test("what a leaving executor holds is with the others before it has gone") {
    val expected = alone(rows(query))
    fillAll()
    val before = CacheControl.held(spark)
    val leaving = before.maxBy(_._2.chunks.size)._1
    val others = before.keySet - leaving
    signal(processes()(leaving), "PWR")
    eventually(timeout(30.seconds), interval(100.millis)) {
      val missing = before(leaving).chunks.keySet -- chunksOf(others)
      assert(missing === Set.empty, s"of ${before(leaving).chunks.size}")
    }
    val missed = misses()
    assert(rows(query) === expected)
    assert(misses() === missed, "no task found a chunk missing")
    assert(cluster.directory.isLive(leaving), "all this while it is there")
    eventually(timeout(1.minute))(assert(!cluster.directory.isLive(leaving)))
    assert(rows(query) === expected)
  }

  private def fillAll(): Unit = eventually(timeout(1.minute)) {
    warm()
    assert(CacheControl.held(spark).values.count(_.chunks.nonEmpty) === Executors)
  }

  test("one that comes late has its part of what the others hold, before a query asks for it") {
    val expected = alone(rows(query))
    eventually(timeout(1.minute))(assert(cluster.directory.executorIds.size === Executors))
    val late = cluster.directory.executorIds.maxBy(_.toInt)
    val others = cluster.directory.executorIds - late
    withConf("spark.oap.placement" -> "off")(eventually(timeout(1.minute)) {
      // It can be asked as soon as it has read anything.
      spark.read.parquet(path("u")).groupBy("k").count().collect()
      assert(chunksOf(Seq(late)).intersect(chunksOf(others)).size > missesOf(late).get)
    })
    // Who hands over may die in the middle.
    signal(processes()(others.head), "KILL")
    assert(rows(query) === expected)
  }

  test("an executor that is excluded after failures is not named, and no task waits for it") {
    val expected = alone(rows(query))
    fillAll()
    val excluded = executorsNamed(query).min
    spark.sparkContext.parallelize(1 to 30, 30).foreach { _ =>
      Thread.sleep(50)
      if (SparkEnv.get.executorId == excluded) throw new IllegalStateException("on purpose")
    }
    eventually(timeout(30.seconds), interval(100.millis)) {
      assert(executorsNamed(query) === cluster.directory.executorIds - excluded)
    }
    val begun = System.nanoTime()
    assert(rows(query) === expected)
    assert((System.nanoTime() - begun) / 1000000000L < WaitSeconds)
  }

  private def missesOf(executor: String): Option[Long] =
    spark.sql(
      s"SELECT misses + bypasses FROM oap.system.executors WHERE executor_id = '$executor'")
      .collect().headOption.map(_.getLong(0))

  private def cluster = Cluster.of(spark.sparkContext)

  private def misses(): Long =
    spark.sql("SELECT sum(misses + bypasses) FROM oap.system.executors").head().getLong(0)
}

private object DecommissionSuite {
  val Executors = 3
}
