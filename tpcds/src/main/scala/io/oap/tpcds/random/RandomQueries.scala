package io.oap.tpcds.random

import io.oap.tpcds.Json
import io.oap.tpcds.scale.Job

/**
 * What dev/random-queries hands to the job.
 *
 * @param minutes after which no more queries begin; 0: until all have run
 * @param queries after which no more begin; 0: until the time is over
 * @param seed of the first star
 * @param perStar queries of each star
 * @param form of the tables, see [[Form]]
 * @param work folder for stars, which are thrown away
 * @param failures folder for what reproduces failures
 * @param judge command line that compares rows with files: it gets the folder of what was dumped
 * @param pool capacity of the pool in bytes, which it has again after each tiny phase
 */
final case class RandomRequest(
    minutes: Int,
    queries: Long,
    seed: Long,
    perStar: Int,
    form: String,
    work: String,
    failures: String,
    judge: Seq[String],
    pool: Long)

/** The job behind dev/random-queries. */
object RandomQueries {
  def main(arguments: Array[String]): Unit = Job.exit {
    val request = Json.read(arguments.head, classOf[RandomRequest])
    val campaign = new Campaign(request, println(_))
    if (campaign.run()) 0 else 1
  }
}
