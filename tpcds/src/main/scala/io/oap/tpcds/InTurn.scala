package io.oap.tpcds

import java.time.Instant

import org.apache.spark.sql.Row

import io.oap.tpcds.result.{QueryRun, Round}

/** Systems of one application that run queries in turn. */
trait Turns {

  /** Names of all systems, in the order of the report. The rows of the first one are the right ones. */
  def names: Seq[String]

  /**
   * The systems that run a query in a round, one after the other. The first of [[names]] is among
   * those of the first round.
   *
   * @param query its place among all queries, from 0
   */
  def order(query: Int, number: Int): Seq[String]

  def run(system: String, query: String): (Seq[Row], QueryRun)

  /** Called with all runs of a query, by system and number of the round, before the next query begins. */
  def ended(query: String, runs: Seq[(String, Int, QueryRun)]): Unit = ()

  /** Whether rows that are not the expected ones are as right as those. */
  def areAsRight(system: String, query: String, rows: Seq[Row]): Boolean = false
}

/**
 * Runs queries on systems that take turns, query by query and round by round, so that whatever the
 * machine does besides hits all of them. Compares all rows with those that the first system gave
 * first.
 *
 * @param numbers of the rounds; from 1 on they count
 */
final class InTurn(turns: Turns, numbers: Range, progress: Progress) {
  import InTurn.Ran

  /** @return the rounds of all systems, of which each has one run of each query */
  def of(queries: Seq[String]): Seq[Round] = {
    val process = Instant.now().toString
    val orders =
      queries.indices.map(query => numbers.map(number => turns.order(query, number).size).sum)
    val total = orders.sum.toLong
    val runs = queries.zipWithIndex.flatMap { case (query, index) =>
      val ran = runsOf(query, index, orders.take(index).sum.toLong, total)
      turns.ended(query, ran)
      ran
    }
    for {
      number <- numbers
      name <- turns.names
      of = runs.collect { case (`name`, `number`, run) => run } if of.nonEmpty
    } yield Round.inARow(name, number, of).copy(
      process = process,
      time = process,
      fileBytes = of.flatMap(_.fileBytes).sum)
  }

  private def runsOf(
      query: String,
      index: Int,
      before: Long,
      total: Long): Seq[(String, Int, QueryRun)] = {
    var done = before
    var expected = Option.empty[Seq[Row]]
    numbers.flatMap { number =>
      val ran = turns.order(index, number).map { system =>
        progress.show(s"$query $system, round $number", done, total, "runs")
        val (rows, run) = turns.run(system, query)
        done += 1
        Ran(system, rows, run)
      }
      if (expected.isEmpty) {
        expected = ran.find(r => r.system == turns.names.head && r.run.error.isEmpty).map(_.rows)
      }
      // Outside of the turns, so that nobody's comparison lies between two times.
      ran.map(one => (one.system, number, checked(query, one, expected)))
    }
  }

  private def checked(query: String, ran: Ran, expected: Option[Seq[Row]]): QueryRun =
    if (ran.run.error.nonEmpty || ran.run.difference.nonEmpty) ran.run
    else {
      val difference = expected.flatMap(RowComparison.difference(_, ran.rows))
        .filterNot(_ => turns.areAsRight(ran.system, query, ran.rows))
      ran.run.copy(difference = difference.getOrElse(""))
    }
}

private object InTurn {
  private final case class Ran(system: String, rows: Seq[Row], run: QueryRun)
}
