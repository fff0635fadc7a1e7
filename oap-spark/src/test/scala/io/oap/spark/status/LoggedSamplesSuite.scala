package io.oap.spark.status

import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.oap.cache.stats.Figure
import io.oap.spark.CacheSuite

/** Of many reports few become events, and the last one does. */
class LoggedSamplesSuite extends AnyFunSuite {
  private val posted = new ArrayBuffer[(String, Long)]
  private val logged =
    new LoggedSamples(sampled => posted += sampled.report.executor -> sampled.atMillis)

  private def add(id: String, atMillis: Long): Unit =
    logged.add(new ExecutorSampled(
      atMillis,
      ExecutorReport.without(id, "host", ExecutorReport.OFF, null)))

  private def taken(body: => Unit): Seq[(String, Long)] = {
    posted.clear()
    body
    posted.toSeq
  }

  test("one a minute of each executor, and its last one") {
    val hour = taken(for (second <- 0 until 3600; id <- Seq("1", "2")) add(id, second * 1000L))
    assert(hour.groupBy(_._1).values.map(_.map(_._2)).toSeq ===
      Seq.fill(2)((0 until 3600 by 60).map(_ * 1000L)))
    assert(taken(logged.executorRemoved("1")) === Seq("1" -> 3599000L))
    assert(taken(logged.executorRemoved("1")) === Nil)
    assert(taken(logged.applicationEnded()) === Seq("2" -> 3599000L))
  }

  test("nothing twice, and a clock that is set back stops nothing") {
    assert(taken(add("3", 1000000)) === Seq("3" -> 1000000L))
    assert(taken(add("3", 10)) === Seq("3" -> 10L))
    assert(taken(logged.applicationEnded()) === Nil)
  }
}

/** An event log has the figures of the end, with few events. */
class EventLogSuite extends CacheSuite {
  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.compress" -> "false",
    "spark.eventLog.dir" -> Files.createDirectories(folder.resolve("events")).toUri.toString
  )

  private def lines: Seq[String] =
    Using.resource(Files.walk(folder.resolve("events"))) { paths =>
      paths.filter(Files.isRegularFile(_)).toList.asScala.toSeq
        .flatMap((path: Path) => Files.readAllLines(path).asScala)
    }

  test("the last figures of an executor are in the log when the application has ended") {
    spark.range(1000).write.parquet(path("t"))
    def hits: Long = CacheStatus.of(spark.sparkContext).totals.figures.get(Figure.HITS)
    for (round <- 1 to 3) {
      val before = hits
      spark.read.parquet(path("t")).collect()
      if (round > 1) eventually(timeout(30.seconds), interval(50.millis))(assert(hits > before))
    }
    val last = hits
    spark.stop()
    val sampled = lines.filter(_.contains(classOf[ExecutorSampled].getName))
    assert(sampled.size === 2, sampled.mkString("\n"))
    assert(sampled.last.contains(s"\"${Figure.HITS.field}\":$last"), sampled.last)
    spark = newApplication(Map.empty)
  }
}
