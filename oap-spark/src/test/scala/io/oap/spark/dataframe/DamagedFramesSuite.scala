package io.oap.spark.dataframe

import java.nio.ByteBuffer

import org.apache.spark.{SparkException, TaskContext}
import org.apache.spark.rdd.RDD

import io.oap.cache.DamagedChunkException
import io.oap.common.{ChunkKey, EntryKind}
import io.oap.spark.{DamagedPool, UnloggedFailures}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.rdd._

/** A suite whose pool is its own, since it does not trust it any more when it ends. */
trait DamagedFrames extends FramesInPool with UnloggedFailures {
  protected def poolSize: String

  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.size" -> poolSize)

  protected def isFirstColumn(key: ChunkKey): Boolean =
    key.kind == EntryKind.CACHED_BATCH && key.column == 0

  protected def flip(at: ByteBuffer => Int)(chunk: ByteBuffer): Unit =
    chunk.put(at(chunk), (chunk.get(at(chunk)) ^ 1).toByte)
}

/** Cached DataFrames whose chunks are found damaged by those who read them. */
class BrokenFramesSuite extends DamagedFrames {
  override protected def poolSize: String = "46m"

  test("table_damagedSoThatItCannotBeOpened_failsOneTaskAtMost") {
    cached(flat(20000)) { frame =>
      val plain = rows(frame)
      DamagedPool.damage(isFirstColumn)(flip(_ => 0))
      intercept[SparkException](rows(frame))
      for (run <- 1 to 2) assertRows(rows(frame), plain, s"run $run")
    }
  }
}

/** Blocks that are damaged and stay where they are, as another executor's while a task reads them. */
class StayingBlocksSuite extends DamagedFrames {
  override protected def poolSize: String = "48m"

  override protected def settings: Map[String, String] =
    super.settings + ("spark.master" -> "local[2, 2]") // tries a task twice

  test("block_damagedAndStaying_failsOneTryOfATask") {
    for (run <- 1 to 2) {
      val read = spark.sparkContext.range(0, 2, 1, 2).mapPartitions { _ =>
        val task = TaskContext.get()
        SoundBlocks.read[Int](-1, task.partitionId(), task)(
          Iterator.continually(throw new DamagedChunkException))(Iterator(task.attemptNumber()))
      }
      assert(read.collect().toSeq === Seq(1, 1), s"run $run")
    }
  }
}

/**
 * Cached DataFrames and RDDs whose chunks have other bytes than they were put with: they are computed
 * again, and no row is wrong. A task is tried once here.
 */
class DamagedFramesSuite extends DamagedFrames {
  override protected def poolSize: String = "47m"

  /** Changes a byte of the values. */
  private def inTheMiddle(chunk: ByteBuffer): Unit = flip(_.remaining / 2)(chunk)

  private def verify(): Long = ExecutorCache.get().get.verify(_ => true).damaged

  /** Damages a cached table, and has it read right from then on. */
  private def assertComputedAgain(learn: () => Unit): Unit = {
    val query = "SELECT id, id * 7 n, concat('w', id % 10) w FROM range(0, 60000, 1, 3)"
    val plain = rows(spark.sql(query))
    spark.sql(s"CACHE TABLE damaged AS $query")
    try {
      val table = () => spark.table("damaged")
      assertRows(rows(table()), plain, "before")
      DamagedPool.damage(isFirstColumn)(inTheMiddle)
      learn()
      for (run <- 1 to 3) assertRows(rows(table()), plain, s"run $run")
      val some = "id >= 100 AND w = 'w3'"
      assertRows(
        rows(table().filter(some)),
        rows(spark.sql(query).filter(some)),
        "with a condition")
    } finally {
      spark.catalog.uncacheTable("damaged")
      spark.sql("DROP VIEW IF EXISTS damaged")
    }
  }

  private def numbers: RDD[Long] = spark.sparkContext.range(0, 300000, 1, 3)

  private def assertPooledAgain(learn: () => Unit): Unit = {
    val pooled = numbers.persistInPool()
    try {
      assert(pooled.sum() === numbers.sum())
      DamagedPool.damage(isFirstColumn)(inTheMiddle)
      learn()
      for (_ <- 1 to 3) assert(pooled.collect().toSeq === numbers.collect().toSeq)
    } finally pooled.unpersist(blocking = true)
  }

  test("table_damagedAndVerified_isComputedAgain") {
    assertComputedAgain(() => assert(verify() === 1))
    assert(verify() === 0, "what is damaged is served no more")
  }

  test("rdd_damagedAndVerified_isComputedAgain") {
    assertPooledAgain(() => assert(verify() === 1))
  }

  test("table_inAPoolThatHasLostWrites_isComputedAgain") {
    assertComputedAgain(() => DamagedPool.loseWrites())
    assertPooledAgain(() => ())
  }
}
