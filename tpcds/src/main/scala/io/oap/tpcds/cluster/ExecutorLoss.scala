package io.oap.tpcds.cluster

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

import io.oap.tpcds.result.{Bars, QueryRun, Round}

/**
 * One executor is killed in the middle of a query, or told to leave and killed a little later. The
 * query has to be right, a round may read again only what that executor held, once there is another
 * one, or with notice a part of that and at once; and its successor may cost the others nothing.
 */
final class ExecutorLoss(options: ClusterOptions) extends ClusterMeasurement {
  private val control = new Control(options.control)
  private val isAnnounced = options.command == "decommission"

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    val settings = measured.settings :+ ("spark.decommission.enabled" -> isAnnounced.toString)
    Application.use(options, settings: _*) { application =>
      say(RoundTable.header)
      val rounds = new Rounds(application, measured, say)
      for (_ <- 1 to options.rounds) rounds.next()
      for (_ <- 1 to options.losses) loseOne(rounds, bars)
    }
  }

  /** The rounds of all queries that an application has run, from the first on. */
  private final class Rounds(
      val application: Application,
      val measured: Measured,
      val say: String => Unit) {
    var last = Option.empty[Round]

    def next(): Round = {
      val number = last.fold(1)(_.number + 1)
      val round = application.round(number, "auto", measured.expected)
      say(RoundTable.line(round))
      last = Some(round)
      round
    }
  }

  private def loseOne(rounds: Rounds, bars: Bars): Unit = {
    import rounds.{application, measured, say}
    val warm = rounds.last.get
    val before = application.held()
    val (lost, lostBytes) = before.bytes.maxBy(_._2)
    val query = warm.queries.maxBy(_.fromPool).query
    val what = if (isAnnounced) "decommission" else "kill -9"
    val alone = RoundTable.megabytes(before.bytesAlone(lost))
    say(s"$what of executor $lost, which holds ${RoundTable.megabytes(lostBytes)}, " +
      s"$alone of it alone, in $query")
    val known = application.addresses
    val interrupted = lose(application, before.executors(lost).host, query, measured)
    say(s"$query then read ${RoundTable.megabytes(interrupted.fromFile)} from files")
    val meanwhile = if (isAnnounced) Nil else untilReplaced(application, known, measured)
    for (run <- meanwhile)
      say(s"before another one was there, ${run.query} read ${RoundTable.megabytes(run.fromFile)}")
    val next = rounds.next()
    say(RoundTable.fromFiles(next))
    Application.waitFor("new executor")(application.hosts.size >= options.executors)
    val later = Seq(rounds.next(), rounds.next())
    val after = application.held()
    say(RoundTable.ofHeld(Seq("before" -> before, "after" -> after)))
    val differences = (interrupted +: meanwhile).map(_.difference).filter(_.nonEmpty) ++
      (next +: later).flatMap(_.differences)
    bars.none("rows that differ from Spark alone", differences)
    bars.atMost(
      "bytes the next round read more than the one before, in parts of what was lost",
      (next.fromFile - warm.fromFile).toDouble / lostBytes,
      if (isAnnounced) Bars.ReadAgainAfterNotice else Bars.ReadAgain
    )
    bars.atLeast(
      "% of bytes from the own pool, best of the two rounds after",
      100 * later.map(_.share).max,
      Bars.FromOwnPool)
    bars.atMost(
      "bytes that only other executors had and gave up",
      after.givenUpSince(before, lost).toDouble,
      0)
  }

  /**
   * Queries until another executor is there. Spark says how long that takes: until then the others
   * have no room for what was lost, and each query has to read it again.
   */
  private def untilReplaced(
      application: Application,
      known: Set[String],
      measured: Measured): Seq[QueryRun] = {
    val deadline = 2.minutes.fromNow
    Iterator
      .continually(options.queries)
      .flatten
      .takeWhile(_ => application.addresses.subsetOf(known) && deadline.hasTimeLeft())
      .map(query => application.run(query, measured.expected(query), "auto"))
      .toSeq
  }

  /**
   * Runs the query, and has the executors of the host go when tasks of it have ended; again where
   * it ends sooner than it is looked at.
   */
  private def lose(
      application: Application,
      host: String,
      query: String,
      measured: Measured): QueryRun = {
    implicit val threads: ExecutionContext = ExecutionContext.global
    def begin() = Future(application.run(query, measured.expected(query), "auto"))
    val seen = Iterator.continually(begin()).take(ExecutorLoss.MostTrials).find { result =>
      Application.waitFor(s"middle of $query") {
        result.isCompleted || application.isInTheMiddle(options.executors)
      }
      if (result.isCompleted) Await.result(result, Duration.Zero)
      !result.isCompleted
    }
    val result = seen.getOrElse(throw new IllegalStateException(
      s"$query ended ${ExecutorLoss.MostTrials} times before it could be seen; take more data"))
    if (isAnnounced) control.retire(host, ExecutorLoss.NoticeSeconds)
    else control.kill(host, whole = false)
    Await.result(result, 10.minutes)
  }
}

private object ExecutorLoss {
  private val NoticeSeconds = 5
  private val MostTrials = 10
}
