package io.oap.spark.executor

import java.nio.file.Files
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler._
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.ui.{
  SparkListenerSQLExecutionEnd,
  SparkListenerSQLExecutionStart
}
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.cache.stats.Figure
import io.oap.spark.ExecutorsSuite
import io.oap.spark.cluster.Cluster
import io.oap.spark.status.Advice

/** Executors of a host that have one pool together. */
class SharedPoolSuite extends ExecutorsSuite(2) {

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "64m",
    "spark.oap.pool.path" -> Files.createDirectories(folder.resolve("pools")).toString,
    "spark.oap.pool.shared" -> "true")

  private def query(name: String): DataFrame =
    spark.read.parquet(path(name)).selectExpr("sum(id)", "max(v)")

  private def sum(column: String): Long =
    spark.sql(s"SELECT sum($column) FROM oap.system.executors").head().getLong(0)

  private def pids(): Map[String, Long] = {
    import org.apache.spark.SparkEnv
    spark.sparkContext.range(0, 16, 1, 16).map { _ =>
      Thread.sleep(50) // so that no executor has done all before another one begins
      SparkEnv.get.executorId -> ProcessHandle.current().pid()
    }.collect().toMap
  }

  private def cluster: Cluster = Cluster.of(spark.sparkContext)

  /** Ids of the executors that the driver knows to have one pool together. */
  private def members(): Seq[Set[String]] =
    cluster.directory.totals().executors.map(_.executor.members.map(_.id).toSet)

  /** What the driver knows to be held, and held twice. */
  private def heldBytes(): (Long, Long) = {
    val totals = cluster.directory.totals()
    (totals.heldBytes, totals.heldTwiceBytes)
  }

  private def chunksToldBy(executor: String): Int = {
    var chunks = 0
    cluster.directory.foreachFileOf(executor)((_, file, holder, _) =>
      file.foreachHeld(holder)(_ => chunks += 1))
    chunks
  }

  /** The places that each task of a query's scan names to Spark's scheduler. */
  private def places(query: DataFrame): Seq[Set[String]] =
    collect(query.queryExecution.sparkPlan) { case scan: BatchScanExec => scan.inputPartitions }
      .flatten.map(_.preferredLocations().toSet)

  /**
   * Tasks of the first stage of the query that is run: the scan. Events of what ran before may come
   * as late as this; the query's own are those of its group of jobs.
   */
  private def tasksOf(run: => Unit): Seq[TaskInfo] = {
    val group = "tasksOf"
    val started = new ConcurrentLinkedQueue[SparkListenerTaskStart]
    val isOver = new CountDownLatch(1)
    val listener = new SparkListener {
      private var execution = Option.empty[Long]
      private var stages = Set.empty[Int]

      override def onJobStart(job: SparkListenerJobStart): Unit =
        if (job.properties.getProperty("spark.jobGroup.id") == group) stages ++= job.stageIds
      override def onTaskStart(start: SparkListenerTaskStart): Unit =
        if (stages(start.stageId)) started.add(start): Unit
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case start: SparkListenerSQLExecutionStart if start.jobGroupId.contains(group) =>
          execution = Some(start.executionId)
        case end: SparkListenerSQLExecutionEnd if execution.contains(end.executionId) =>
          isOver.countDown()
        case _ =>
      }
    }
    spark.sparkContext.addSparkListener(listener)
    spark.sparkContext.setJobGroup(group, "what a test looks at")
    try {
      run
      assert(isOver.await(1, TimeUnit.MINUTES))
    } finally {
      spark.sparkContext.clearJobGroup()
      spark.sparkContext.removeSparkListener(listener)
    }
    val all = started.asScala.toSeq
    all.filter(_.stageId == all.map(_.stageId).min).map(_.taskInfo)
  }

  private def chunks(): Seq[String] =
    spark.sql("SELECT path, row_group, column FROM oap.system.chunks").collect()
      .map(_.toString).toSeq.sorted

  test("each chunk is loaded once, for all, and outlives whoever has loaded it") {
    spark.range(0, 40000, 1, 8).selectExpr("id", "id * 7 AS v").write.parquet(path("t"))
    val expected = alone(rows(query("t")))
    for (_ <- 1 to 4) assert(rows(query("t")) === expected)
    eventually(timeout(30.seconds), interval(200.millis)) {
      assert(pids().size === 2)
    }
    val held = chunks()
    assert(held.size === 16)
    // Whoever did not read a file opened the pool, too, and has all that is there.
    val loaded = sum("misses")
    assert(loaded === 16)

    // Each of them has all, so that each may take any task, as soon as it has a slot.
    eventually(timeout(30.seconds), interval(200.millis)) {
      assert(members() === Seq(pids().keySet))
      assert(members().head.forall(chunksToldBy(_) == 16))
      assert(cluster.status.totals.figures.get(Figure.CHUNKS) === 16)
    }
    val (bytes, twice) = heldBytes()
    assert(bytes > 0 && twice === 0, "what both have is there once")
    val named = places(query("t"))
    assert(named.size === 2 && named.forall(_.size === 2) && named.distinct.size === 1)
    val again = query("t") // a job of Spark's own looks for the schema
    val tasks = tasksOf(assert(rows(again) === expected))
    assert(tasks.map(_.executorId).sorted === pids().keys.toSeq.sorted)
    assert(tasks.forall(_.taskLocality == TaskLocality.PROCESS_LOCAL), "none has waited")
    assert(sum("misses") === loaded && sum("bypasses") === 0 && sum("tasks_elsewhere") === 0)

    // Sums have the pool once.
    val pool = spark.sql("SELECT pool, count(*), max(capacity_bytes), max(chunks) " +
      "FROM oap.system.executors GROUP BY pool").collect()
    assert(pool.map(row => (row.getLong(1), row.getLong(2), row.getLong(3))) ===
      Array((2, 64L << 20, 16)))
    assert(pool.head.getString(0).startsWith(folder.resolve("pools").toString))
    val figures = cluster.status.totals.figures
    assert(figures.get(Figure.CAPACITY_BYTES) === (64L << 20))
    assert(figures.get(Figure.HITS) === sum("hits"))
    assert(spark.sql("SELECT executors, files, chunks FROM oap.system.tables").collect()
      .map(row => (row.getInt(0), row.getInt(1), row.getLong(2))) === Array((1, 8, 16)))
    assert(spark.sql("SELECT count(*) FROM oap.system.advice " +
      s"WHERE executor_id = '${Advice.All}' AND capacity_bytes = ${64L << 20}").head().getLong(
      0) ===
      1)

    val victim = pids().min
    val process = ProcessHandle.of(victim._2).get
    assert(process.destroyForcibly())
    process.onExit().get()
    eventually(timeout(30.seconds), interval(50.millis)) {
      assert(!cluster.directory.isLive(victim._1))
    }
    assert(heldBytes() === (bytes -> 0), "the other one has it")
    assert(members().size === 1)
    eventually(timeout(1.minute), interval(200.millis)) {
      assert(pids().keySet.size === 2 && !pids().contains(victim._1))
    }
    for (_ <- 1 to 4) assert(rows(query("t")) === expected)
    assert(chunks() === held)
    // The survivor may have loaded some before; nobody has loaded anything again.
    assert(sum("misses") <= loaded)
  }
}
