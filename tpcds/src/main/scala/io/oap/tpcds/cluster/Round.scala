package io.oap.tpcds.cluster

/**
 * One run of one query.
 *
 * @param seconds from the SQL text to the collected rows
 * @param fromPool bytes of column chunks taken from the pools of the tasks' own executors
 * @param fromFile bytes read from files, footers included
 * @param tasksElsewhere tasks that ran on another executor than they were placed on
 * @param difference how the rows differ from those of Spark alone
 */
final case class QueryRun(
    query: String,
    seconds: Double,
    fromPool: Long,
    fromFile: Long,
    tasksElsewhere: Long,
    difference: Option[String])

/**
 * All queries once.
 *
 * @param placement value of spark.oap.placement, or [[Round.SparkAlone]]
 */
final case class Round(placement: String, number: Int, runs: Seq[QueryRun]) {
  def isSparkAlone: Boolean = placement == Round.SparkAlone
  def seconds: Double = runs.map(_.seconds).sum
  def fromPool: Long = runs.map(_.fromPool).sum
  def fromFile: Long = runs.map(_.fromFile).sum

  def tasksElsewhere: Long = runs.map(_.tasksElsewhere).sum

  /** What share of the bytes came from the task's own pool. */
  def share: Double =
    if (fromPool + fromFile == 0) 0 else fromPool.toDouble / (fromPool + fromFile)

  def differences: Seq[String] = runs.flatMap(run => run.difference.map(d => s"${run.query}: $d"))
}

object Round {

  /** The session without the extension, of which nothing is known but the time. */
  val SparkAlone = "spark"

  /** A round of queries that all read something: unless by Spark alone, through the extension. */
  def served(placement: String, number: Int, runs: Seq[QueryRun]): Round = {
    def checked(run: QueryRun): QueryRun =
      if (run.difference.isEmpty && run.fromPool + run.fromFile == 0) {
        run.copy(difference = Some("the extension served none of the scans"))
      } else run
    Round(placement, number, if (placement == SparkAlone) runs else runs.map(checked))
  }
}
