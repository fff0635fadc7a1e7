package io.oap.spark.dataframe

import java.lang.management.{BufferPoolMXBean, ManagementFactory}
import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.LongType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.scalatest.concurrent.Eventually.{eventually, timeout}

/** DataFrames of plans that give columns, which become vector chunks without rows in between. */
class ColumnarFramesSuite extends FramesInPool {

  /** Tables with a column of each flat type, whose dictionaries differ between row groups. */
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val rows = flat(60000).selectExpr("*", "cast(id % 3 AS decimal(12, 2)) part")
    rows.write.options(rowGroupsOf(5000)).partitionBy("part").parquet(path("parquet"))
    // ORC's reader has no vector for these.
    rows.drop("part", "daytime", "yearmonth", "collated").write.orc(path("orc"))
  }

  private def parquet: DataFrame = spark.read.parquet(path("parquet"))

  private def assertColumnar(frame: => DataFrame): Unit = {
    assertCached(frame)
    cached(frame) { frame =>
      frame.count()
      val scans = collect(executed(frame)) { case scan: InMemoryTableScanExec => scan }
      val told = scans.map(_.simpleStringWithNodeId())
      assert(told.nonEmpty && told.forall(_.contains("columnarIn=true")), told)
    }
  }

  test("files_readBySpark_areCachedByColumns") {
    withConf("spark.oap.cache.formats" -> "") {
      assertColumnar(parquet)
      assertColumnar(spark.read.orc(path("orc")))
    }
  }

  test("files_readBySparkOffHeap_areCachedByColumns") {
    withConf(
      "spark.oap.cache.formats" -> "",
      "spark.sql.columnVector.offheap.enabled" -> "true")(assertColumnar(parquet))
  }

  test("files_readByOurScan_areCachedByColumns") {
    withConf("spark.oap.cache.representation" -> "vector") {
      for (_ <- 1 to 2) assertColumnar(parquet)
    }
  }

  test("caches_ofCaches_areCachedByColumns") {
    cached(flat(30000)) { inner =>
      inner.count()
      val plain = rows(inner)
      def outer = inner.select("id", "string", "large", "double")
      val expected = rows(outer)
      outer.cache()
      try {
        outer.count()
        assertRows(rows(outer), expected, "outer")
      } finally outer.unpersist(blocking = true)
      assertRows(rows(inner), plain, "inner")
    }
  }

  test("batches_ofManySizes_giveTheSameRows") {
    // Batches of an odd size, whose zones are put together of several.
    for (size <- Seq(4095, 7777)) {
      withConf(
        "spark.oap.cache.formats" -> "",
        "spark.sql.parquet.columnarReaderBatchSize" -> size.toString)(assertColumnar(parquet))
    }
  }

  test("strings_longerThanABatch_giveTheSameRows") {
    spark.sql(
      "SELECT id, repeat(cast(id AS string), if(id % 4 = 1, cast(200 + id AS int), 9)) s, " +
        "repeat('ab', if(id = 5, 9000000, if(id = 7, 13000000, 1))) t FROM range(0, 40, 1, 1)")
      .write.parquet(path("long"))
    def frame = spark.read.parquet(path("long"))
      .selectExpr("id", "s", "length(t)", "hash(t)", "substr(t, 9000000, 2)")
    val plain = rows(frame)
    withConf("spark.oap.cache.formats" -> "") {
      cached(spark.read.parquet(path("long"))) { _ =>
        assertRows(rows(frame), plain, "filled")
        assertRows(rows(frame), plain, "read again")
      }
    }
  }

  test("partitions_ofFewRows_leaveNoMemoryOutsideTheHeap") {
    val direct = ManagementFactory.getPlatformMXBeans(classOf[BufferPoolMXBean]).asScala
      .find(_.getName == "direct").get
    val before = direct.getMemoryUsed
    HandMadeBatches.fill(spark.sparkContext, partitions = 20)
    assert(direct.getMemoryUsed - before < (20L << 20))
  }

  test("partitions_thatATaskHasFilled_areHeldByItNoMore") {
    for (rows <- Seq(false, true))
      HandMadeBatches.fillInOneTask(spark.sparkContext, partitions = 20, rows)
  }

  test("batches_wantedAfterTheirTask_areRefused") {
    HandMadeBatches.leave(spark.sparkContext)
    intercept[IllegalStateException](HandMadeBatches.left.next())
  }

  test("tasks_thatFail_leaveNothingInThePool") {
    spark.range(0, 300000, 1, 1).selectExpr("id", "id * 7 seven").write.parquet(path("numbers"))
    val fails = Seq("id", "if(id = 299999, raise_error('at the end'), id) k")
    for (frame <- Seq(
        spark.range(0, 300000, 1, 1).selectExpr(fails: _*),
        spark.read.parquet(path("numbers")).selectExpr(fails: _*))) {
      intercept[Exception](frame.cache().count())
      // Not when they are collected as garbage some day.
      assert(poolBytes === 0)
      frame.unpersist(blocking = true)
    }
  }
}

/** Batches of what no plan has made, with a few rows and many columns. */
private object HandMadeBatches {
  private val Rows = 10
  private val Columns = 20

  private def input(): ColumnarBatch = {
    val columns = Array.fill[ColumnVector](Columns) {
      val values = new OnHeapColumnVector(Rows, LongType)
      values.putLongs(0, Rows, 7)
      values
    }
    new ColumnarBatch(columns, Rows)
  }

  private def shape =
    BatchShape(Array.fill(Columns)(LongType), entersPool = false, mostRows = PackedRows.MOST_ROWS)

  private def filling = new ColumnsFill(shape)

  def fill(context: SparkContext, partitions: Int): Unit = {
    val inputs = context.parallelize(0 until partitions, partitions).map(_ => input())
    new FilledBatches(inputs, filling).foreach(_ => ())
  }

  private val inputs = new ConcurrentLinkedQueue[WeakReference[ColumnarBatch]]

  private def watched(): ColumnarBatch = {
    val batch = input()
    inputs.add(new WeakReference(batch))
    batch
  }

  /** Has one task fill some partitions. The last one may still have its input at the end. */
  def fillInOneTask(context: SparkContext, partitions: Int, asRows: Boolean): Unit = {
    inputs.clear()
    val numbers = context.parallelize(0 until partitions, partitions)
    val filled =
      if (asRows)
        new FilledBatches(
          numbers.mapPartitions(_.flatMap(_ => watched().rowIterator().asScala)),
          new RowsFill(shape))
      else new FilledBatches(numbers.map(_ => watched()), filling)
    filled.coalesce(1).foreachPartition { batches =>
      batches.foreach(_ => ())
      eventually(timeout(20.seconds)) {
        System.gc()
        assert(inputs.asScala.count(_.get != null) <= 1)
      }
    }
    assert(inputs.size == partitions)
  }

  /** What a task has left behind. */
  @volatile var left: Iterator[CachedBatch] = _

  def leave(context: SparkContext): Unit =
    context.parallelize(Seq(0), 1).foreach { _ =>
      left = filling.batches(Iterator.fill(2)(input()), TaskContext.get())
    }
}
