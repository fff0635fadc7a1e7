package io.oap.spark.read

import java.lang.ref.WeakReference

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.Platform
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.{Seconds, Span}

import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.vector.ScanVector

/** Threads that read on when their task has ended, as those of Python workers do. */
class OutlivedTaskSuite extends CacheSuite {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.adaptive.enabled" -> "false")

  test("a thread that outlives its task gets no more batches") {
    // One task reads all files.
    spark.range(0, 60000, 1, 6).selectExpr("id", "id % 7 AS k").write.parquet(path("outlived"))
    withConf("spark.sql.files.minPartitionNum" -> "1") {
      def query = spark.read.parquet(path("outlived")).filter("k < 3")
      for (run <- 1 to 20) {
        val reader = onlyReader(query)
        for (_ <- 1 to run % 4) assert(reader.next())
        val thread = Future(while (run % 2 == 0 && reader.next()) {})
        reader.close()
        Await.result(thread, 60.seconds)
        assert(!reader.next())
        assertNothingPinned()
      }
    }
  }

  test("a thread that outlives its task may read the batch that it has") {
    spark.range(0, 60000, 1, 1)
      .selectExpr("id", "concat('text ', id) AS s", "id % 7 AS k", "id + 1 AS next")
      .write.options(rowGroupsOf(20000)).parquet(path("late"))
    def query = spark.read.parquet(path("late")).filter("k < 3")
    def values(batch: ColumnarBatch) = (0 until batch.numRows).map { i =>
      val row = batch.getRow(i)
      (row.getLong(0), row.getString(1), row.getLong(2), row.getLong(3))
    }
    val all = Seq("id", "s", "k", "next")
    for (vectors <- Seq(Nil, Seq("id", "k"), all); batches <- 1 to 3) {
      CacheControl.clear(spark)
      if (vectors.nonEmpty) for (_ <- 1 to 2) query.select(vectors.map(col): _*).collect()
      val reader = onlyReader(query)
      for (_ <- 1 to batches) assert(reader.next())
      val batch = reader.get()
      assert(batch.column(0).isInstanceOf[ScanVector] === vectors.nonEmpty)
      val before = values(batch)
      reader.close()
      // What memory is freed is used again.
      val others = Seq.fill(100)(Platform.allocateMemory(50000))
      others.foreach(Platform.setMemory(_, 0, 50000))
      val late = Await.result(Future(Try(values(batch))), 60.seconds)
      others.foreach(Platform.freeMemory(_))
      // Spark's own vectors fail: they are no more.
      assert(late.isSuccess || vectors != all)
      late.foreach(values => assert(values === before))
    }
  }

  test("a reader that has come to its end holds no memory of its scan") {
    spark.range(0, 20000, 1, 1).selectExpr("id", "id % 7 AS k").write.parquet(path("ended"))
    def query = spark.read.parquet(path("ended")).filter("k < 3")
    for (_ <- 1 to 2) query.collect()
    val reader = onlyReader(query)
    val vector = firstVector(reader)
    assert(!reader.next())
    eventually(timeout(Span(20, Seconds))) {
      System.gc()
      assert(vector.get === null)
    }
    reader.close()
  }

  /** Reads all, and gives the vector that its first column lay in. */
  private def firstVector(reader: PartitionReader[ColumnarBatch]): WeakReference[ColumnVector] = {
    assert(reader.next())
    val vector = reader.get().column(0)
    assert(vector.isInstanceOf[ScanVector])
    while (reader.next()) {}
    new WeakReference(vector)
  }

  /** A reader of all that a query scans, which has run once. */
  private def onlyReader(query: DataFrame): PartitionReader[ColumnarBatch] = {
    val scan = cachedScans(executed(query)).head
    val parts = scan.planInputPartitions()
    assert(parts.length === 1)
    scan.createReaderFactory().createColumnarReader(parts.head)
  }
}
