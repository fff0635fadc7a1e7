package io.oap.tpcds

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession

import io.oap.spark.CacheControl

/** Whether pools still have pinned chunks when no query runs any more. */
object StillPinned {

  /** Executors that have some, and how many, after a minute for tasks that Spark has given up. */
  def executors(spark: SparkSession): Seq[String] = {
    def pinned: Seq[String] = CacheControl.held(spark).toSeq.collect {
      case (id, held) if held.pinnedChunks > 0 => s"executor $id: ${held.pinnedChunks}"
    }
    val deadline = 1.minute.fromNow
    var found = pinned
    while (found.nonEmpty && deadline.hasTimeLeft()) {
      Thread.sleep(100)
      found = pinned
    }
    found
  }
}
