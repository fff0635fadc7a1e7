package io.oap.tpcds.cluster

import java.nio.file.Path

import scala.util.Random

import org.apache.spark.sql.SparkSession

import io.oap.spark.OapExtensions
import io.oap.tpcds.StillPinned
import io.oap.tpcds.random.{Star, StarRun, Tally, Workers}
import io.oap.tpcds.result.Bars

/**
 * Random queries on the cluster while an executor is killed every 20 seconds and one is paused now
 * and then: rows are those of Spark alone, no query is lost and nothing stays pinned.
 */
final class RandomQueriesUnderKills(options: ClusterOptions) extends ClusterMeasurement {
  private val work = Path.of(options.work)
  private val tally = new Tally

  override def run(say: String => Unit, bars: Bars): Unit = {
    say(s"seed ${options.seed}")
    val spark = RandomQueriesUnderKills.application(options)
    val context = spark.sparkContext
    def hosts = Application.hosts(context)
    Application.waitFor(s"${options.executors} executors")(hosts.size >= options.executors)
    val workers = new Workers(spark, tally, say)
    val kills =
      new RegularKills(
        new Control(options.control),
        () => hosts,
        new Random(options.seed),
        what => say(s"    $what"))
    try rounds(workers)
    finally {
      kills.close()
      workers.close()
    }
    Application.waitFor(s"${options.executors} executors")(hosts.size >= options.executors)
    bars.none("executors with pinned chunks", StillPinned.executors(spark))
    spark.stop()
    say(tally.report)
    bars.atLeast("queries", tally.queriesDone.toDouble, options.randomQueries.toDouble)
    bars.atLeast("executors killed", kills.killed.toDouble, 1)
    bars.none("what is not right", tally.wrong)
  }

  private def rounds(workers: Workers): Unit = {
    var number = 0
    while (tally.queriesDone < options.randomQueries) {
      val stars = workers.all.indices.map { i =>
        val seed = options.seed + number * workers.all.size + i
        val folder = work.resolve(Star.name(seed))
        val star = new Star(seed, folder.toString)
        new StarRun(
          star,
          folder,
          work.resolveSibling("logs").resolve("random"),
          tally,
          settings(seed))
      }
      workers.each(stars) { (worker, star) =>
        workers.protect(star.seed, worker) {
          star.make(worker)
          (0 until RandomQueriesUnderKills.PerStar).iterator
            .takeWhile(_ => tally.queriesDone < options.randomQueries)
            .foreach(star.runOnCluster(worker, _))
        }
      }
      stars.foreach(_.drop(workers.all.head))
      number += 1
    }
  }

  // An error of a value would be tried a hundred times, as if its executor had been lost.
  private def settings(seed: Long): Seq[(String, String)] = Seq(
    "spark.sql.ansi.enabled" -> "false",
    "spark.oap.placement" -> options.placements((seed % options.placements.size).toInt))
}

private object RandomQueriesUnderKills {
  private val PerStar = 50

  private def application(options: ClusterOptions): SparkSession = {
    val builder = SparkSession
      .builder()
      .appName("OAP random queries")
      .config("spark.sql.extensions", classOf[OapExtensions].getName)
      .config("spark.sql.catalogImplementation", "in-memory")
      .config("spark.oap.pool.size", options.pool)
    Disturbance.Settings.foreach { case (key, value) => builder.config(key, value) }
    builder.getOrCreate()
  }
}
