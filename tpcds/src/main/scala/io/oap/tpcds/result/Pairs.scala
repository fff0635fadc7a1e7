package io.oap.tpcds.result

import io.oap.tpcds.PlanSteps

/**
 * The ratios of a result whose systems took turns in one application: how many times as fast a
 * system is as the first one. A query that failed anywhere has none.
 */
final class Pairs(result: Result) {
  private val plan = result.plan
  private val firstNumber = result.rounds.map(_.number).minOption.getOrElse(1)

  /** The system that the others are compared with. */
  val base: String = plan.systems.head.name

  val others: Seq[MeasuredSystem] = plan.systems.tail

  private val failed: Set[String] =
    result.rounds.flatMap(_.queries).filter(_.error.nonEmpty).map(_.query).toSet

  val queries: Seq[String] = plan.queries

  /** Seconds by the number of the round. */
  private def runs(query: String, system: String): Map[Int, Double] = (for {
    round <- result.rounds if round.system == system && !failed.contains(query)
    run <- round.queries if run.query == query
  } yield round.number -> run.seconds).toMap

  private def counting(query: String, system: String): Map[Int, Double] =
    runs(query, system).filter(_._1 > 0)

  /** In seconds, of the rounds that count. */
  def median(query: String, system: String): Option[Double] = {
    val seconds = counting(query, system).values.toSeq
    Option.when(seconds.nonEmpty)(Statistics.median(seconds))
  }

  /** The ratio of medians. */
  def warm(query: String, other: String, over: String = base): Option[Double] =
    for (a <- median(query, over); b <- median(query, other)) yield a / b

  /** The ratio of each round that counts. */
  def ofRounds(query: String, other: String): Seq[Double] = {
    val (a, b) = (counting(query, base), counting(query, other))
    a.keys.toSeq.sorted.filter(b.contains).map(number => a(number) / b(number))
  }

  /** The ratio of the first runs in the application. */
  def first(query: String, other: String): Option[Double] =
    for (a <- runs(query, base).get(firstNumber); b <- runs(query, other).get(firstNumber))
      yield a / b

  /** The geometric mean of a ratio of all queries. */
  def mean(ratio: Pairs.Ratio): Option[Double] = {
    val found = queries.flatMap(ratio(_))
    Option.when(found.nonEmpty)(Statistics.geometricMean(found))
  }

  /** The query with the least ratio. */
  def least(ratio: Pairs.Ratio): Option[(String, Double)] =
    queries.flatMap(query => ratio(query).map(query -> _)).minByOption(_._2)

  /** What the plan of a system does more or less often than that of the first one, in the last run. */
  def otherSteps(query: String, other: String): String =
    PlanSteps.difference(steps(query, base), steps(query, other))

  private def steps(query: String, system: String): Map[String, Long] = (for {
    round <- result.rounds if round.system == system && !failed.contains(query)
    run <- round.queries if run.query == query
  } yield round.number -> run.steps).maxByOption(_._1).fold(Map.empty[String, Long])(_._2)

  /** How the fact tables lie, in a word. */
  def layout: String = (if (plan.form == "parquet") "" else s"${plan.form} ") +
    (if (plan.partitioned) "partitioned" else "plain")
}

object Pairs {

  /** The ratio of a query, where there is one. */
  type Ratio = String => Option[Double]

  /** What [[Plan.scenario]] is then. */
  val Scenario = "pairs"
}
