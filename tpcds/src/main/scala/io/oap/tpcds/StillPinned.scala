package io.oap.tpcds

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession

import io.oap.spark.CacheControl

/** Whether pools still have pinned chunks when no query runs any more. */
object StillPinned {

  /** Executors that have some, and how many, after a minute. */
  def executors(spark: SparkSession): Seq[String] =
    lasting(CacheControl.held(spark).toSeq.collect {
      case (id, held) if held.pinnedChunks > 0 => s"executor $id: ${held.pinnedChunks}"
    })

  /** What is found still after a minute: so long tasks that Spark has given up may hold on to it. */
  def lasting(found: => Seq[String]): Seq[String] = {
    val deadline = 1.minute.fromNow
    var last = found
    while (last.nonEmpty && deadline.hasTimeLeft()) {
      Thread.sleep(100)
      last = found
    }
    last
  }
}
