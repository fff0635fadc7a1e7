package io.oap.spark.buildside

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** An exchange whose rows outlive the query, as one kind of side. */
private[buildside] trait KeptExchange[S <: KeptSide] extends Exchange {
  import KeptExchange._

  /** The sides of this kind that the application keeps. */
  protected def sides: KeptSides[S]

  /** What rows become, in canonical form: the mode of a broadcast, the partitioning of a shuffle. */
  protected def form: Any

  /** Counts a side that an earlier query has made. */
  protected def keptMetric: (String, SQLMetric) =
    Kept -> SQLMetrics.createMetric(sparkContext, "kept build sides used")

  @transient private lazy val files: Option[FilesNow] =
    orNone("looked for")(FilesNow.of(PlanShape.sources(child)))

  @transient private lazy val key: Option[BuildSideKey] =
    files.flatMap(asked => orNone("looked for")(BuildSideKey.of(form, child, conf, asked)))

  /** The files below, and in which versions they were or will be read; none where that is not known. */
  private[buildside] def read: Option[(FilesNow, Seq[Any])] =
    for (asked <- files; settled <- key) yield (asked, settled.reads)

  /** What an earlier query has made. */
  @transient protected lazy val found: Option[S] = {
    val side = key.flatMap(sides.find)
    side.foreach { one =>
      tell(one)
      longMetric(Kept) += 1
      val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
      SQLMetrics.postDriverMetricUpdates(sparkContext, execution, metrics.values.toSeq)
    }
    side
  }

  /** Has the metrics say of a side that is found what they would say of one that is made. */
  protected def tell(side: S): Unit

  /** Whether what this query makes may be kept. */
  protected def isKnown: Boolean = key.isDefined

  /** Keeps what this query has made. A file that was replaced meanwhile may have been read in either version. */
  protected def keep(side: S): Unit =
    for (before <- key; asked <- files)
      if (asked.areSettled) sides.keep(before, side)
      else sides.keepIf(before, side)(orNone("kept")(asked.askAgain()).contains(before.reads))

  private def orNone[A](what: String)(asked: => Option[A]): Option[A] =
    try asked
    catch {
      case NonFatal(e) =>
        logDebug(s"A build side is not $what", e)
        None
    }
}

private[spark] object KeptExchange {

  /** The metric that counts exchanges that an earlier query has made. */
  val Kept = "keptBuildSides"
}
