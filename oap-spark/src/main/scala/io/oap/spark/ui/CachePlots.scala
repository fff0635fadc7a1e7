package io.oap.spark.ui

import scala.jdk.CollectionConverters._
import scala.xml.Node

import io.oap.cache.stats.Figure
import io.oap.spark.internals.SparkUi
import io.oap.spark.status.CacheSnapshot
import io.oap.spark.status.CacheSnapshot.Sample

/** What the cache did over time: hit ratio, bytes read, use of the pools. */
private object CachePlots {
  private val Pool = "#3ec0ff"
  private val File = "#f0a04b"
  private val Capacity = "#bbbbbb"

  /** From one sample to the next when something happens all the time. */
  private val UsualMillis = 4000L

  def of(snapshot: CacheSnapshot): Node = {
    val samples = snapshot.samples.asScala.toSeq
    <div class="row" style="margin-bottom: 10px;">
      {
      Seq(hitRatio(samples), bytes(samples), pools(samples)).map(plot =>
        <div class="col-xl-4 col-lg-6">{plot.svg}</div>)
    }
    </div>
  }

  private def hitRatio(samples: Seq[Sample]): Plot = {
    val ratios = samples.zip(samples.drop(1)).flatMap { case (before, now) =>
      Option(now.figures.minus(before.figures).hitRatio).map(now.atMillis -> _.doubleValue)
    }
    Plot("Hit ratio", Seq(Line("hits", Pool, ratios)), StatusColumn.percent, Some(1))
  }

  private def bytes(samples: Seq[Sample]): Plot = Plot(
    "Bytes read so far",
    Seq(
      Line("from pool", Pool, held(samples, Figure.BYTES_FROM_POOL)),
      Line("from files", File, held(samples, Figure.BYTES_FROM_FILE))),
    bytesText
  )

  private def pools(samples: Seq[Sample]): Plot = Plot(
    "Pools",
    Seq(
      Line("used", Pool, held(samples, Figure.USED_BYTES)),
      Line("capacity", Capacity, held(samples, Figure.CAPACITY_BYTES))),
    bytesText)

  private def bytesText(value: Double): String = SparkUi.bytes(value.toLong)

  /** Where there was no sample for long, nothing happened until shortly before the next one. */
  private def held(samples: Seq[Sample], figure: Figure): Seq[(Long, Double)] = {
    def value(sample: Sample) = sample.figures.get(figure).toDouble
    val pairs = samples.zip(samples.drop(1))
    val usual = math.max(
      UsualMillis,
      pairs.map { case (a, b) => b.atMillis - a.atMillis }
        .minOption.getOrElse(0L))
    samples.take(1).map(first => (first.atMillis, value(first))) ++
      pairs.flatMap { case (before, now) =>
        val still = now.atMillis - usual
        val point = (now.atMillis, value(now))
        if (still > before.atMillis) Seq((still, value(before)), point) else Seq(point)
      }
  }
}
