package io.oap.spark.status

import java.util.Locale

import scala.jdk.CollectionConverters._

import io.oap.cache.model.CapacityEstimates
import io.oap.cache.stats.Figure
import io.oap.spark.internals.SparkUi

/**
 * What a pool, or all of them together, would hit with another capacity.
 *
 * @param executor its id, or [[Advice.All]]
 * @param change from what the capacity is now, in bytes
 * @param asked bytes that readers asked for lately
 * @param held what of them was in the pool
 * @param hit what of them would have been in a pool of that capacity
 */
private[spark] final case class Advice(
    executor: String,
    capacity: Long,
    change: Long,
    asked: Long,
    held: Long,
    hit: Long) {

  /** From 0 to 1; nothing before anything was asked for. */
  def hitRatio: Option[Double] = ratio(hit)

  def hitRatioChange: Option[Double] = ratio(hit - held)

  private def ratio(bytes: Long): Option[Double] =
    if (asked > 0) Some(bytes.toDouble / asked) else None

  def text: String = (hitRatio, hitRatioChange) match {
    case (Some(now), _) if change == 0 => s"as it is: ${percent("%.1f", now)} hits"
    case (_, Some(by)) =>
      val sign = if (change < 0) "-" else "+"
      s"$sign${SparkUi.bytes(math.abs(change))}: ${percent("%+.1f", by)} hits"
    case _ => "nothing was asked for yet"
  }

  private def percent(format: String, ratio: Double): String =
    String.format(Locale.ROOT, format, Double.box(100 * ratio)) + " %"
}

private[spark] object Advice {

  /** Stands for all executors together, each with as many percent of its capacity. */
  val All = "all"

  /** For each executor that is there and has a pool, and for all. */
  def of(snapshot: CacheSnapshot): Seq[Advice] = {
    val live = snapshot.executors.asScala.filter(_.isLive).map(_.report).toSeq
    val each = for {
      report <- live.sortBy(report => (report.executor.length, report.executor))
      pool <- Option(report.pool)
      estimates <- Option(pool.estimates)
    } yield report.poolName ->
      ofOne(report.executor, pool.figures.get(Figure.CAPACITY_BYTES), estimates)
    each.flatMap(_._2) ++ sum(each.groupMap(_._1)(_._2).values.map(ofPool).toSeq)
  }

  /** What executors that have one pool together ask it for, which has its capacity once. */
  private def ofPool(byExecutor: Seq[Seq[Advice]]): Seq[Advice] = byExecutor.transpose.map(
    _.reduce((a, b) =>
      a.copy(asked = a.asked + b.asked, held = a.held + b.held, hit = a.hit + b.hit)))

  private def ofOne(
      executor: String,
      capacity: Long,
      estimates: CapacityEstimates): Seq[Advice] = {
    val percents = CapacityEstimates.PERCENTS.asScala.map(_.longValue)
    val hits = estimates.hitBytes.asScala.map(_.longValue)
    val held = percents.zip(hits).collectFirst { case (100, bytes) => bytes }.getOrElse(0L)
    percents.zip(hits).map { case (percent, hit) =>
      val other = (capacity * (percent / 100.0)).toLong
      Advice(executor, other, other - capacity, estimates.askedBytes, held, hit)
    }.toSeq
  }

  private def sum(byPool: Seq[Seq[Advice]]): Seq[Advice] =
    if (byPool.isEmpty) Nil
    else {
      byPool.transpose.map(_.reduce((a, b) =>
        Advice(
          All,
          a.capacity + b.capacity,
          a.change + b.change,
          a.asked + b.asked,
          a.held + b.held,
          a.hit + b.hit)).copy(executor = All))
    }
}
