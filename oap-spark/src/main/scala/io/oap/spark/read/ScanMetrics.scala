package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.stats.Figure.Unit._
import io.oap.spark.status.Figures

/** What the SQL tab shows of a cached scan: all figures of readers. */
object ScanMetrics {
  private val figures = Figure.OF_READERS.asScala.toArray

  def all: Array[CustomMetric] = figures.map(figure =>
    figure.unit match {
      case BYTES => new BytesMetric(figure)
      case COUNT => new CountMetric(figure)
      case NANOS => new TimeMetric(figure)
    })

  /** The values of one task so far. */
  def of(counters: CacheCounters): Array[CustomTaskMetric] =
    figures.map(figure => TaskValue(figure.metric, figure.shown(counters.get(figure))))

  /** The values of a scan that Spark has no such metrics of. */
  def of(counted: Figures): Map[String, Long] =
    figures.map(figure => figure.metric -> figure.shown(counted.get(figure))).toMap

  private case class TaskValue(name: String, value: Long) extends CustomTaskMetric
}

/*
 * Spark makes these classes by name once more, to sum up what tasks tell; then only the unit
 * counts, not the figure.
 */

/** A number, shown as it is. */
class CountMetric(figure: Figure) extends CustomSumMetric {
  def this() = this(Figure.HITS)
  override def name(): String = figure.metric
  override def description(): String = figure.label
}

/** A sum of bytes, shown with its unit. */
class BytesMetric(figure: Figure) extends CountMetric(figure) {
  def this() = this(Figure.BYTES_FROM_POOL)

  override def aggregateTaskMetrics(taskMetrics: Array[Long]): String = {
    val bytes = taskMetrics.sum
    val units = Seq("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    val power = if (bytes < 1) 0 else (63 - java.lang.Long.numberOfLeadingZeros(bytes)) / 10
    if (power == 0) s"$bytes B"
    else
      String.format(java.util.Locale.ROOT, "%.1f %s", bytes / math.pow(1024, power), units(power))
  }
}

/** Milliseconds. */
class TimeMetric(figure: Figure) extends CountMetric(figure) {
  def this() = this(Figure.LOAD_NANOS)
  override def aggregateTaskMetrics(taskMetrics: Array[Long]): String = s"${taskMetrics.sum} ms"
}
