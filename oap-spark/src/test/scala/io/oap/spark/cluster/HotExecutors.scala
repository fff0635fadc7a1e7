package io.oap.spark.cluster

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import io.oap.spark.executor._

/** Executors that have row groups to tell of, and take note of what they are dealt. */
private final class HotExecutors extends HandOvers.Ask {
  val hottest = mutable.HashMap.empty[String, HotRowGroups]
  private val deals = mutable.HashMap.empty[String, HandOver]
  private var asked = 0

  override def apply[A](
      executor: String,
      request: ExecutorRequest[A],
      time: FiniteDuration): Option[A] = synchronized {
    val answer = request match {
      case _: TellHottest =>
        asked += 1
        hottest.get(executor)
      case deal: HandOver =>
        deals(executor) = deal
        Some(BegunHandOver(1, 0))
      case other => throw new IllegalArgumentException(s"$other")
    }
    answer.asInstanceOf[Option[A]]
  }

  def times: Int = synchronized(asked)

  def tells(executor: String, rowGroups: (Long, Int)*): Unit =
    hottest(executor) = HotRowGroups(
      rowGroups.map(_._1).toArray,
      rowGroups.map(_._2).toArray,
      rowGroups.map(_ => 10L).toArray,
      rowGroups.map(_ => 4.0).toArray,
      Array(0L))

  /** By file and row group: who hands it over, and to whom. */
  def dealt(): Map[(Long, Int), (String, String)] = synchronized {
    val all = for {
      (holder, deal) <- deals
      i <- deal.files.indices
    } yield (deal.files(i), deal.rowGroups(i)) -> (holder -> deal.receivers(deal.to(i)))
    deals.clear()
    all.toMap
  }
}
