package io.oap.tpcds.cluster

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

import io.oap.tpcds.result.{Bars, QueryRun, Round}

/**
 * One executor is killed in the middle of a query, or told to leave and killed a little later. The
 * query has to be right, only what that executor held may be read again, or with notice a part of
 * that, and its successor may cost the others nothing.
 */
final class ExecutorLoss(options: ClusterOptions) extends ClusterMeasurement {
  private val control = new Control(options.control)
  private val isAnnounced = options.command == "decommission"

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    val settings = measured.settings :+ ("spark.decommission.enabled" -> isAnnounced.toString)
    Application.use(options, settings: _*) { application =>
      say(RoundTable.header)
      def round(number: Int): Round = {
        val round = application.round(number, "auto", measured.expected)
        say(RoundTable.line(round))
        round
      }
      val warm = (1 to options.rounds).map(round).last
      val before = application.held()
      val (lost, lostBytes) = before.bytes.maxBy(_._2)
      val query = warm.queries.maxBy(_.fromPool).query
      val what = if (isAnnounced) "decommission" else "kill -9"
      say(s"$what of executor $lost, which holds ${RoundTable.megabytes(lostBytes)}, in $query")
      val interrupted = lose(application, before.executors(lost).host, query, measured)
      say(s"$query then read ${RoundTable.megabytes(interrupted.fromFile)} from files")
      val next = round(options.rounds + 1)
      Application.waitFor("new executor")(application.hosts.size >= options.executors)
      val later = Seq(round(options.rounds + 2), round(options.rounds + 3))
      val after = application.held()
      say(RoundTable.ofHeld(Seq("before" -> before, "after" -> after)))
      val differences =
        Seq(interrupted.difference).filter(_.nonEmpty) ++ (next +: later).flatMap(_.differences)
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
        "bytes that the other executors gave up",
        after.givenUpSince(before, lost).toDouble,
        0)
    }
  }

  /** Runs the query, and has the executors of the host go when tasks of it have ended. */
  private def lose(
      application: Application,
      host: String,
      query: String,
      measured: Measured): QueryRun = {
    implicit val threads: ExecutionContext = ExecutionContext.global
    val result = Future(application.run(query, measured.expected(query), "auto"))
    Application.waitFor(s"middle of $query") {
      if (result.isCompleted) {
        throw new IllegalStateException(s"$query ended before it could be seen; take more data")
      }
      application.isInTheMiddle(options.executors)
    }
    if (isAnnounced) control.retire(host, ExecutorLoss.NoticeSeconds)
    else control.kill(host, whole = false)
    Await.result(result, 10.minutes)
  }
}

private object ExecutorLoss {
  private val NoticeSeconds = 5
}
