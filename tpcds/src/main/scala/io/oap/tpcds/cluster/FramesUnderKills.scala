package io.oap.tpcds.cluster

import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._
import scala.util.Random

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.internal.StaticSQLConf
import org.apache.spark.storage.StorageLevel

import io.oap.spark.dataframe.DataFrameSerializer
import io.oap.tpcds.{Queries, StillPinned}
import io.oap.tpcds.result.Bars

/**
 * Minutes of cached DataFrames while an executor is killed every 20 seconds and one is paused now and
 * then: rows are those of Spark alone, and what is not cached any more has no byte in any pool.
 */
final class FramesUnderKills(options: ClusterOptions) extends ClusterMeasurement {
  private val random = new Random(options.seed)
  private val tables = Queries.tables(options.queries).map(_.name)
  private val differences, left = ArrayBuffer.empty[String]

  override def run(say: String => Unit, bars: Bars): Unit = {
    say(s"seed ${options.seed}")
    val settings = Disturbance.Settings ++ Seq(
      "spark.oap.pool.size" -> options.pool,
      // Sessions come before the extension here.
      StaticSQLConf.SPARK_CACHE_SERIALIZER.key -> classOf[DataFrameSerializer].getName
    )
    Application.use(options, settings: _*) { application =>
      val expected = options.queries.map(query => query -> application.expected(query)).toMap
      // So that pools hold nothing but DataFrames.
      application.oap.conf.set("spark.oap.cache.formats", "orc")
      val kills = new RegularKills(
        new Control(options.control),
        () => application.hosts,
        new Random(random.nextLong()),
        what => say(s"    $what"))
      val deadline = options.minutes.minutes.fromNow
      var cached = 0L
      try
        while (deadline.hasTimeLeft()) cached = math.max(cached, round(application, expected, say))
      finally kills.close()
      Application.waitFor("executors")(application.hosts.size >= options.executors)
      bars.none("executors with pinned chunks", StillPinned.executors(application.oap))
      bars.atLeast("executors killed", kills.killed.toDouble, 1)
      bars.atLeast("MB of DataFrames in the pools at most", cached / 1e6, 1)
      bars.none("rows that differ from Spark alone", differences.toSeq)
      bars.none("bytes that are left of what was cached", left.toSeq)
    }
  }

  /**
   * Caches all tables, runs some queries over them and drops them again.
   *
   * @return bytes in the pools while they were cached
   */
  private def round(
      application: Application,
      expected: Map[String, Seq[Row]],
      say: String => Unit): Long = {
    val spark = application.oap
    val level = FramesUnderKills.Levels(random.nextInt(FramesUnderKills.Levels.length))
    val frames = tables.map(spark.table(_).persist(level))
    val bytes =
      try {
        for (_ <- 1 to FramesUnderKills.QueriesOfRound) {
          val query = options.queries(random.nextInt(options.queries.length))
          check(application, query, expected(query), level, say)
        }
        FramesUnderKills.used(spark)
      } finally drop(spark, frames, say)
    say(f"$level: ${bytes / 1e6}%.1f MB in the pools")
    bytes
  }

  private def check(
      application: Application,
      query: String,
      expected: Seq[Row],
      level: StorageLevel,
      say: String => Unit): Unit = {
    val difference = application.difference(query, expected, "auto")
    say(s"$query: ${if (difference.isEmpty) "same rows" else difference}")
    if (difference.nonEmpty) differences += s"$query, $level: $difference"
  }

  private def drop(spark: SparkSession, frames: Seq[DataFrame], say: String => Unit): Unit = {
    frames.foreach(_.unpersist(blocking = true))
    val found = StillPinned.lasting {
      Seq(FramesUnderKills.used(spark)).filter(_ > 0).map(bytes => s"$bytes bytes are left")
    }
    found.foreach(say)
    left ++= found
  }
}

private object FramesUnderKills {
  import StorageLevel._

  /** Levels at which batches stay objects, so that they enter the pool. */
  private val Levels = Seq(MEMORY_ONLY, MEMORY_AND_DISK, MEMORY_ONLY_2, MEMORY_AND_DISK_2)

  private val QueriesOfRound = 6

  /** Bytes of chunks in the pools of the executors that are there. */
  private def used(spark: SparkSession): Long =
    spark.sql("SELECT coalesce(sum(used_bytes), 0) FROM oap.system.executors").head().getLong(0)
}
