package io.oap.spark.sql

import java.nio.file.{Files, Path}

import scala.concurrent.Await
import scala.concurrent.duration._
import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.Row
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.spark.ExecutorsSuite

/**
 * What SQL, REST and Prometheus say of executors and what procedures do there, also while no task
 * could run: before the first query, while every slot is taken, and while an executor stands still.
 */
class BusySlotsSuite extends ExecutorsSuite(2) with Eventually {
  import BusySlotsSuite._

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(100, Millis))

  private val MiB = 1L << 20

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "64m",
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    eventually(assert(idsOf(spark.sparkContext.statusTracker.getExecutorInfos.length) === Ids))
    spark.range(0, 4000, 1, 4).write.parquet(path("numbers"))
    // To find out the schema takes a task.
    spark.read.parquet(path("numbers")).createOrReplaceTempView("numbers")
  }

  private def idsOf(executorsAndDriver: Int): Seq[String] =
    (0 until executorsAndDriver - 1).map(_.toString)

  private def rows(text: String): Seq[Row] = spark.sql(text).collect().toSeq

  private def call(procedure: String): Seq[Row] = rows(s"CALL oap.system.$procedure")

  private def sum(rows: Seq[Row], column: String): Long = rows.map(_.getAs[Long](column)).sum

  private def states: Seq[Row] = rows("SELECT executor_id, state FROM oap.system.executors")

  /** Returns how many chunks the pools hold then: a task that ran elsewhere leaves a copy. */
  private def fill(): Int = {
    spark.table("numbers").collect()
    val chunks = rows("SELECT path FROM oap.system.chunks")
    assert(chunks.distinct.size === 4)
    chunks.size
  }

  private def explained: String =
    rows("EXPLAIN FORMATTED SELECT * FROM numbers").head.getString(0)

  private def get(address: String): String =
    Using.resource(Source.fromURL(spark.sparkContext.uiWebUrl.get + address))(_.mkString)

  private def inRest: Seq[JsonNode] =
    new ObjectMapper().readTree(get("/oap/api/v1/executors")).asScala.toSeq

  private def inPrometheus(metric: String): Seq[Long] =
    get("/oap/metrics/prometheus").linesIterator
      .filter(_.startsWith(s"oap_executor_$metric{")).map(_.split(' ').last.toLong).toSeq

  /** The tab and metrics come to say what there is, seconds later. */
  private def assertShown(chunks: Int): Unit = eventually {
    assert(inRest.map(_.get("report").get("pool").get("chunks").asLong).sum === chunks)
    assert(inPrometheus("chunks").sum === chunks)
    assert(explained.contains(s"CachedShare: [id: ${if (chunks > 0) 100 else 0} %]"), explained)
  }

  /** Runs the body while every slot has a task that goes on until the body has ended. */
  private def whileBusy[T](body: => T): T = {
    val gate = path("gate")
    val job = spark.sparkContext.makeRDD(Ids, Ids.size).foreachAsync(_ => awaitFile(gate))
    try {
      eventually {
        val infos = spark.sparkContext.statusTracker.getExecutorInfos
        assert(infos.map(_.numRunningTasks).sum === Ids.size)
      }
      val result = body
      assert(!job.isCompleted, "the slots were free")
      result
    } finally {
      Files.createFile(Path.of(gate))
      Await.ready(job, 1.minute)
      Files.delete(Path.of(gate))
    }
  }

  /** Runs the body while an executor stands still. */
  private def whilePaused[T](executor: String)(body: => T): T = {
    val all = processes()
    assert(all.keySet === Ids.toSet)
    signal(all(executor), "STOP")
    try body
    finally signal(all(executor), "CONT")
  }

  test("executors on which no task has used the cache say so, and keep a new capacity for later") {
    assert(states === Ids.map(Row(_, "not used yet")))
    whileBusy {
      assert(states === Ids.map(Row(_, "not used yet")))
      for (procedure <- Seq("clear()", "verify()")) {
        val answers = call(procedure)
        assert(answers.map(_.getString(0)) === Ids, procedure)
        assert(answers.forall(_.getAs[String]("why").contains("no task has used")), answers)
      }
      val resized = call(s"resize(${48 * MiB})")
      assert(resized.map(_.getString(0)) === Ids)
      assert(resized.forall(row => row.isNullAt(1) && row.getString(2).contains("when one does")))
    }
    fill()
    eventually {
      val capacities = rows("SELECT capacity_bytes FROM oap.system.executors")
      assert(capacities === Seq.fill(2)(Row(48 * MiB)))
    }
  }

  test("tables, EXPLAIN, REST and Prometheus say what there is while all slots are taken") {
    val count = fill()
    whileBusy {
      assert(states === Ids.map(Row(_, "open")))
      val executors = rows("SELECT * FROM oap.system.executors")
      assert(sum(executors, "chunks") === count && sum(executors, "misses") >= 4)
      assert(rows("SELECT * FROM oap.system.chunks").size === count)
      assert(rows("SELECT * FROM oap.system.files").size === 4)
      assert(rows("SELECT column, share FROM oap.system.columns") === Seq(Row("id", 1.0)))
      assert(rows("SELECT chunks, share FROM oap.system.tables") === Seq(Row(count, 1.0)))
      val advised = rows("SELECT executor_id FROM oap.system.advice").map(_.getString(0))
      assert(advised.distinct === Ids :+ "all")
      val some = rows("SELECT upper(state), executor_id AS id FROM oap.system.executors " +
        "WHERE executor_id > '0' AND chunks > 0 LIMIT 5")
      assert(some === Seq(Row("OPEN", "1")))
      assertShown(count)
    }
  }

  test("procedures do their work while all slots are taken") {
    val count = fill()
    whileBusy {
      def answers(procedure: String): Seq[Row] = {
        val answers = call(procedure)
        assert(answers.map(_.getString(0)) === Ids)
        assert(answers.forall(_.getAs[String]("why") === null), answers)
        answers
      }
      assert(sum(answers("pin('numbers')"), "chunks") === count)
      assert(rows("SELECT pinned FROM oap.system.chunks") === Seq.fill(count)(Row(true)))
      assert(sum(answers("unpin('numbers')"), "chunks") === count)
      val verified = answers("verify()")
      assert(sum(verified, "chunks") === count && sum(verified, "damaged_chunks") === 0)
      assert(answers(s"resize(${32 * MiB})").map(_.getLong(1)) === Seq.fill(2)(32 * MiB))
      assert(sum(answers("clear()"), "chunks") === count)
      assert(sum(rows("SELECT * FROM oap.system.executors"), "chunks") === 0)
      assertShown(0)
    }
  }

  test("an executor that stands still holds up nobody for long, and is named") {
    fill()
    whilePaused("1") {
      for (statement <- Seq("SELECT * FROM oap.system.executors", "CALL oap.system.verify()")) {
        val begun = Deadline.now
        val answers = rows(statement).map(row => row.getString(0) -> row).toMap
        assert((Deadline.now - begun) < 30.seconds, statement)
        assert(answers.keySet === Ids.toSet)
        assert(answers("0").getAs[String]("why") === null)
        assert(answers("0").getAs[Long]("chunks") > 0)
        assert(answers("1").getAs[String]("why").matches("no answer within \\d+ s"))
      }
      assert(states === Seq(Row("0", "open"), Row("1", "not reached")))
      assert(rows("SELECT executor_id FROM oap.system.chunks").distinct === Seq(Row("0")))
    }
    eventually(assert(states === Ids.map(Row(_, "open"))))
  }
}

private object BusySlotsSuite {
  private val Ids = Seq("0", "1")

  /** Waits for the file, some minutes at most. */
  private def awaitFile(file: String): Unit = {
    val deadline = 5.minutes.fromNow
    while (!Files.exists(Path.of(file)) && deadline.hasTimeLeft()) Thread.sleep(20)
  }
}
