package io.oap.tpcds.cluster

import java.lang.management.ManagementFactory
import java.nio.file.Path

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._
import scala.util.Random

import org.apache.spark.sql.Row

import io.oap.tpcds.StillPinned
import io.oap.tpcds.data.DataFolder
import io.oap.tpcds.result.{Bars, Statistics}

/**
 * Minutes of queries while executors are killed, added and paused and files are written again. The
 * rows are always those of Spark alone on the same data, nothing stays pinned, and the driver does
 * not grow.
 */
final class RandomFailures(options: ClusterOptions) extends ClusterMeasurement {
  private val random = new Random(options.seed)
  private val folder = Path.of(options.work)
  private val differences = ArrayBuffer.empty[String]
  private val heap = ArrayBuffer.empty[Double]

  override def run(say: String => Unit, bars: Bars): Unit = {
    say(s"seed ${options.seed}")
    val pool = "spark.oap.pool.size" -> options.pool
    try
      Application.use(options, Disturbance.Settings :+ pool: _*) { application =>
        val done = disturbed(application, say)
        say(s"driver's heap in MB after each query: " + heap.map(mb => f"$mb%.0f").mkString(" "))
        bars.atLeast("queries", done.toDouble, Bars.QueriesUnderFailures)
        bars.none("rows that differ from Spark alone", differences.toSeq)
        bars.none("executors with pinned chunks", stillPinned(application))
        bars.atMost(
          "driver's heap, last third over second",
          RandomFailures.growth(heap.toSeq),
          Bars.GrowthOfHeap)
      }
    finally DataFolder.delete(folder)
  }

  /** @return how many queries ran */
  private def disturbed(application: Application, say: String => Unit): Int = {
    val table = new ChangingTable(Seq(application.sparkAlone, application.oap), folder, random)
    val expected = mutable.Map.empty[String, Seq[Row]]
    val disturbance = new Disturbance(
      new Control(options.control),
      () => application.hosts,
      options.executors,
      new Random(random.nextLong()),
      what => say(s"    $what"))
    val deadline = options.minutes.minutes.fromNow
    var done = 0
    try
      while (deadline.hasTimeLeft()) {
        if (random.nextInt(6) == 0) {
          say(table.change())
          expected.clear()
        }
        val query = options.queries(random.nextInt(options.queries.length))
        val placement = options.placements(random.nextInt(options.placements.length))
        val rows = expected.getOrElseUpdate(query, application.expected(query))
        check(application, query, placement, rows, say)
        done += 1
        sampleHeap()
      }
    finally disturbance.close()
    done
  }

  private def check(
      application: Application,
      query: String,
      placement: String,
      expected: Seq[Row],
      say: String => Unit): Unit = {
    val difference = application.difference(query, expected, placement)
    say(s"$query, $placement: ${if (difference.isEmpty) "same rows" else difference}")
    if (difference.nonEmpty) differences += s"$query, $placement: $difference"
  }

  private def stillPinned(application: Application): Seq[String] = {
    Application.waitFor("executors")(application.hosts.size >= options.executors)
    StillPinned.executors(application.oap)
  }

  private def sampleHeap(): Unit = {
    System.gc()
    heap += ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed / 1e6
  }
}

private[cluster] object RandomFailures {

  /**
   * Median of the last third of the samples over that of the one before; the first third is when
   * code is compiled and lists fill up. Not a number when there are fewer than three samples.
   */
  def growth(samples: Seq[Double]): Double = {
    val third = samples.length / 3
    val late = samples.takeRight(third)
    val before = samples.dropRight(third).takeRight(third)
    if (third == 0) Double.NaN else Statistics.median(late) / Statistics.median(before)
  }
}
