package io.oap.tpcds.result

import com.fasterxml.jackson.annotation.JsonProperty

/** Bytes read since the round began, so many seconds after that. */
final case class Sample(second: Double, fromFile: Long, fromPool: Long)

/**
 * All queries of all tenants once.
 *
 * @param system name of a [[MeasuredSystem]]; on a cluster the value of spark.oap.placement, or
 *     [[Round.SparkAlone]]
 * @param number from 1; of warm-up rounds 0 and below, the last one being 0
 * @param seconds from the begin of the first query to the end of the last one; where something comes
 *     between the queries, what the queries took
 * @param process when the process began that ran it: rounds of one process share its compiled code
 * @param fileBytes read from data files, as Spark or the file system counted them, sweeps included
 * @param heldBytes in all pools, or in the cached tables of `spark-cache`, at the end of the round
 * @param evictedBytes from all pools since they were opened, at the end of the round
 * @param pageCache `left alone`, `dropped` or, when it could not be, `not dropped`
 */
final case class Round(
    system: String,
    repeat: Int,
    number: Int,
    queries: Seq[QueryRun],
    seconds: Double,
    process: String = "",
    time: String = "",
    fileBytes: Long = 0,
    heldBytes: Long = 0,
    evictedBytes: Long = 0,
    pageCache: String = "left alone",
    sweeps: Seq[QueryRun] = Nil,
    samples: Seq[Sample] = Nil) {

  @JsonProperty(access = JsonProperty.Access.READ_ONLY)
  def counts: Boolean = number > 0 && !(queries ++ sweeps).exists(_.error.nonEmpty)

  def isSparkAlone: Boolean = system == Round.SparkAlone
  def fromPool: Long = queries.map(_.fromPool).sum
  def fromFile: Long = queries.map(_.fromFile).sum

  /** Tasks that ran on another executor than they were placed on. */
  def tasksElsewhere: Long = queries.map(_.metric("tasksElsewhere")).sum

  /** What share of the bytes came from the task's own pool. */
  def share: Double =
    if (fromPool + fromFile == 0) 0 else fromPool.toDouble / (fromPool + fromFile)

  def differences: Seq[String] =
    queries.filter(_.difference.nonEmpty).map(run => s"${run.query}: ${run.difference}")

  /** Seconds that the queries of each tenant took; pauses between them do not count. */
  private def tenants: Iterable[Double] =
    queries.groupMapReduce(_.tenant)(_.seconds)(_ + _).values

  /** What the queries of the slowest tenant took over the mean of all tenants. */
  @JsonProperty(access = JsonProperty.Access.READ_ONLY)
  def slowestOverMean: Double = {
    val seconds = tenants
    if (seconds.isEmpty) 1 else seconds.max * seconds.size / seconds.sum
  }

  /**
   * Jain's index of fairness among the tenants' speeds: 1 when all are equal, 1 over their number
   * when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
   */
  @JsonProperty(access = JsonProperty.Access.READ_ONLY)
  def jain: Double = {
    val speeds = tenants.map(1 / _)
    if (speeds.isEmpty) 1
    else speeds.sum * speeds.sum / (speeds.size * speeds.map(speed => speed * speed).sum)
  }
}

object Round {

  /** The session without the extension, of which nothing is known but the time. */
  val SparkAlone = "spark"

  /** A round of queries that all read something: unless by Spark alone, through the extension. */
  def served(placement: String, number: Int, runs: Seq[QueryRun]): Round = {
    def checked(run: QueryRun): QueryRun = run.orNotServed(run.fromPool + run.fromFile > 0)
    inARow(placement, number, if (placement == SparkAlone) runs else runs.map(checked))
  }

  /** A round of queries that ran one after the other. */
  def inARow(system: String, number: Int, runs: Seq[QueryRun]): Round =
    Round(system, 1, number, runs, runs.map(_.seconds).sum)
}
