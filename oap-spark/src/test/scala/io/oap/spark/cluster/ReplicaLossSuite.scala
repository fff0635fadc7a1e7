package io.oap.spark.cluster

import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, ChunkInPool, ExecutorsSuite, ExtendedTest}

/** An executor that dies without notice, while all pools are full and what is hot is held twice. */
@ExtendedTest
class ReplicaLossSuite extends ExecutorsSuite(ReplicaLossSuite.Executors) with HotAndCold {
  import ReplicaLossSuite.Executors

  private val Files = 24

  override protected def settings: Map[String, String] =
    super.settings +
      ("spark.oap.pool.size" -> "2m") +
      ("spark.oap.cache.replicas" -> "50%") +
      ("spark.oap.cache.representation" -> "encoded") +
      // A task that is named the executor that has its chunks runs there.
      ("spark.locality.wait" -> "60s")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // A sixth of the pools, and more than there is in all of them.
    write("hot", Files, rowsOfEach = 2500)
    write("cold", 8 * Files, rowsOfEach = 2500)
  }

  /** What is hot, each chunk with the executors that hold it. */
  private def holders(): Map[ChunkInPool, Set[String]] =
    CacheControl.held(spark).toSeq.flatMap { case (id, held) => hot(held).map(_ -> id) }
      .groupMap(_._1)(_._2).map { case (chunk, ids) => chunk -> ids.toSet }

  private def assertAllTwice(): Unit = {
    val held = holders()
    assert(held.size === 2 * Files && held.values.forall(_.size == 2), held.values.map(_.size))
  }

  /** Chunks that each executor did not find in its pool. */
  private def misses(): Map[String, Long] =
    spark.sql("SELECT executor_id, misses + bypasses FROM oap.system.executors").collect()
      .map(row => row.getString(0) -> (if (row.isNullAt(1)) 0L else row.getLong(1))).toMap

  test("nothing that is hot is read from files after a loss, and full pools keep what is") {
    val expected = alone(rows(query("hot")))
    val cluster = Cluster.of(spark.sparkContext)
    eventually(timeout(1.minute))(assert(cluster.directory.executorIds.size === Executors))
    for (_ <- 1 to 5) query("hot").collect()
    eventually(timeout(1.minute), interval(1.second))(assertAllTwice())
    fillPools(tenths = 9)
    // Plans would have nearly full pools give up what others hold, and each executor read it all.
    val before = misses()
    for (_ <- 1 to 3) assert(rows(query("hot")) === expected)
    eventually(timeout(1.minute), interval(1.second))(assertAllTwice())
    assert(misses() === before)
    assert(executorsNamed(query("hot")) === before.keySet)
    val lost = before.keys.min
    signal(processes()(lost), "KILL")
    eventually(timeout(1.minute), interval(100.millis)) {
      assert(!cluster.directory.isLive(lost))
    }
    assert(rows(query("hot")) === expected)
    for ((executor, some) <- misses()) assert(some === before.getOrElse(executor, 0L), executor)
    // The one that takes its place copies what the others keep of it, before a query asks for that.
    val (newcomer, copied) = eventually(timeout(1.minute), interval(1.second)) {
      query("cold").collect()
      val come = CacheControl.held(spark).filterNot(one => before.contains(one._1))
      assert(come.nonEmpty && hot(come.head._2).nonEmpty)
      come.head._1 -> hot(come.head._2)
    }
    eventually(timeout(1.minute), interval(1.second))(assertAllTwice())
    val after = misses()
    assert(executorsNamed(query("hot")) === before.keySet - lost + newcomer)
    assert(rows(query("hot")) === expected)
    assert(misses() === after && holders().count(_._2(newcomer)) >= copied.size)
  }
}

private object ReplicaLossSuite {
  val Executors = 3
}
