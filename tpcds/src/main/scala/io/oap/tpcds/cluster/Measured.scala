package io.oap.tpcds.cluster

import org.apache.spark.sql.Row

import io.oap.tpcds.result.MeasuredSystem

/**
 * What all measurements need to know first.
 *
 * @param expected rows of Spark alone, by query
 * @param poolBytes capacity of each executor's pool
 */
final case class Measured(expected: Map[String, Seq[Row]], poolBytes: Long) {
  def settings: Seq[(String, String)] = Measured.settings(poolBytes.toString)
}

object Measured {

  /** Chunks stay as they stand in files: what is measured is where they lie, in a fixed size. */
  private def settings(pool: String): Seq[(String, String)] =
    Seq(MeasuredSystem.PoolSize -> pool, MeasuredSystem.Representation -> "encoded")

  // Memory is taken when it is first used, so that a large pool costs only what it holds. In files
  // all of it would be.
  private val RoomForAll = settings("16g") ++
    Seq("path" -> "", "tiers" -> "", "shared" -> "false", "reopen" -> "false").map {
      case (key, value) => s"spark.oap.pool.$key" -> value
    }

  /**
   * Runs each query with Spark alone and through the cache, in pools that take everything.
   *
   * @return with the capacity that was asked for, or the asked-for share of what the queries need
   */
  def of(options: ClusterOptions, say: String => Unit): Measured =
    Application.use(options, RoomForAll: _*) { application =>
      val expected = options.queries.map(q => q -> application.expected(q)).toMap
      application.round(0, "auto", expected)
      val needed = application.held().neededBytes
      val pool =
        if (options.pool.nonEmpty) bytes(options.pool)
        else MeasuredSystem.fitting(needed, options.poolShare)
      say(f"The queries need ${needed / 1e6}%.1f MB; the pool of each executor has " +
        f"${pool / 1e6}%.1f MB, ${pool.toDouble / needed}%.3f of that.")
      Measured(expected, pool)
    }

  private def bytes(size: String): Long = {
    val power = "kmgt".indexOf(size.last.toLower.toInt) + 1
    size.dropRight(1).toLong << (10 * power)
  }
}
