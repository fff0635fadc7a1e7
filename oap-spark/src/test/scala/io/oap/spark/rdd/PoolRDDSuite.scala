package io.oap.spark.rdd

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.HashPartitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerUnpersistRDD}
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, CacheSuite}

/** RDDs in the pool have the elements of their parents, which are computed once. */
class PoolRDDSuite extends CacheSuite {

  private def poolBytes: Long = CacheControl.localPool().fold(0L)(_.pinnedBytes())

  private def numbers(count: Int): RDD[(Int, String)] =
    spark.sparkContext.range(0, count, 1, 3).map(i => (i.toInt, s"element $i"))

  test("elements_areThoseOfTheParent_andComputedOnce") {
    val computed = spark.sparkContext.longAccumulator
    val pooled = numbers(300000).map { one =>
      computed.add(1)
      one
    }.persistInPool()
    try {
      for (_ <- 1 to 3) assert(pooled.collect().toSeq === numbers(300000).collect().toSeq)
      assert(computed.value === 300000)
      assert(poolBytes > 0)
      assert(pooled.getStorageLevel.useMemory)
    } finally pooled.unpersist(blocking = true)
    assert(poolBytes === 0)
    assert(pooled.count() === 300000, "after it was unpersisted")
    assert(computed.value === 600000)
    assert(poolBytes === 0)
  }

  test("partitions_empty_areEmpty") {
    assert(spark.sparkContext.emptyRDD[String].persistInPool().collect().isEmpty)
    val pooled = spark.sparkContext.parallelize(Seq(1), 4).persistInPool()
    try for (_ <- 1 to 2) assert(pooled.collect().toSeq === Seq(1))
    finally pooled.unpersist(blocking = true)
  }

  test("elements_moreThanThePoolHolds_stayOnTheHeap") {
    val text = "x" * 1000
    val pooled = spark.sparkContext.range(0, 200000, 1, 4).map(i => s"$i $text").persistInPool()
    try {
      for (_ <- 1 to 2) assert(pooled.map(_.length.toLong).sum() > 200000 * 1000.0)
      val pool = CacheControl.localPool().get
      assert(pool.pinnedBytes() > 0 && pool.pinnedBytes() <= pool.capacityBytes() / 5 * 4)
    } finally pooled.unpersist(blocking = true)
    assert(poolBytes === 0)
  }

  test("partitioner_isKept") {
    val parts = numbers(1000).partitionBy(new HashPartitioner(5))
    val pooled = parts.persistInPool()
    try {
      assert(pooled.partitioner === parts.partitioner)
      assert(pooled.join(parts).count() === 1000)
    } finally pooled.unpersist(blocking = true)
  }

  test("task_thatFails_leavesNothingInThePool") {
    val pooled = numbers(300000).map { one =>
      if (one._1 == 299999) throw new IllegalStateException("at the end")
      one
    }.coalesce(1).persistInPool()
    intercept[Exception](pooled.count())
    assert(poolBytes === 0)
  }

  test("garbage_leavesThePoolAndSparksStatus") {
    val forgotten = ConcurrentHashMap.newKeySet[Int]()
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onUnpersistRDD(event: SparkListenerUnpersistRDD): Unit =
        forgotten.add(event.rddId): Unit
    })
    def used(): Int = {
      val pooled = numbers(1000).persistInPool()
      pooled.count()
      pooled.id
    }
    val id = used()
    eventually(timeout(30.seconds), interval(100.millis)) {
      System.gc()
      assert(poolBytes === 0 && forgotten.contains(id))
    }
  }

  test("elements_ofJava_areTheSame") {
    val pooled = PoolRDD.of(numbers(100).toJavaRDD())
    try assert(pooled.collect().toArray.toSeq === numbers(100).collect().toSeq)
    finally pooled.unpersist(true)
    assert(poolBytes === 0)
  }
}
