package io.oap.spark.scan

import java.util.OptionalLong

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.{
  ColumnStat,
  Histogram,
  Project,
  Statistics => PlanStatistics
}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.Statistics
import org.apache.spark.sql.connector.read.colstats.{
  ColumnStatistics,
  Histogram => V2Histogram,
  HistogramBin => V2HistogramBin
}
import org.apache.spark.sql.execution.datasources.LogicalRelation

import io.oap.spark.internals.SparkInternals

/**
 * The statistics Spark alone plans with, for a relation that became a V2 scan: what a projection
 * of the V1 relation to the scanned columns reports. Sizes of pruned partitions and ANALYZE TABLE
 * figures come with the relation; so join choices stay as they were.
 *
 * @param relation the V1 relation, with its partitions pruned
 */
case class V1Statistics(relation: LogicalRelation) {

  /**
   * Figures of the columns come from the relation itself: without the cost-based optimizer a
   * projection has none, while Spark still asks the relation for them.
   *
   * @param columns names of the scanned columns, as the relation spells them
   */
  def of(columns: Set[String]): Statistics = {
    val scanned = relation.output.filter(a => columns.contains(a.name))
    val whole = relation.stats
    // Spark knows by this very number that a size is unknown, and a part of it would count as known.
    val isUnknown = whole.sizeInBytes == relation.conf.defaultSizeInBytes
    new V1Statistics.Converted(
      whole.copy(
        sizeInBytes =
          if (isUnknown) whole.sizeInBytes else Project(scanned, relation).stats.sizeInBytes,
        attributeStats = AttributeMap(whole.attributeStats.toSeq.filter { case (a, _) =>
          columns.contains(a.name)
        })
      ))
  }
}

private[spark] object V1Statistics {

  final class Converted(plan: PlanStatistics) extends Statistics {
    override def sizeInBytes(): OptionalLong = OptionalLong.of(clamp(plan.sizeInBytes))

    override def numRows(): OptionalLong = optional(plan.rowCount)

    override def columnStats(): java.util.Map[NamedReference, ColumnStatistics] = {
      val converted: Map[NamedReference, ColumnStatistics] = plan.attributeStats.map {
        case (attribute, stat) =>
          Expressions.column(SparkInternals.quoted(attribute.name)) -> new ConvertedColumn(stat)
      }
      converted.asJava
    }
  }

  final class ConvertedColumn(stat: ColumnStat) extends ColumnStatistics {
    override def distinctCount(): OptionalLong = optional(stat.distinctCount)
    override def min(): java.util.Optional[Object] = optionalValue(stat.min)
    override def max(): java.util.Optional[Object] = optionalValue(stat.max)
    override def nullCount(): OptionalLong = optional(stat.nullCount)
    override def avgLen(): OptionalLong = optional(stat.avgLen.map(BigInt(_)))
    override def maxLen(): OptionalLong = optional(stat.maxLen.map(BigInt(_)))
    override def histogram(): java.util.Optional[V2Histogram] =
      stat.histogram.fold(java.util.Optional.empty[V2Histogram]())(h =>
        java.util.Optional.of(new ConvertedHistogram(h)))
  }

  final class ConvertedHistogram(histogram: Histogram) extends V2Histogram {
    override def height(): Double = histogram.height
    override def bins(): Array[V2HistogramBin] = histogram.bins.map { bin =>
      new V2HistogramBin {
        override def lo(): Double = bin.lo
        override def hi(): Double = bin.hi
        override def ndv(): Long = bin.ndv
      }
    }
  }

  private def clamp(size: BigInt): Long = size.min(BigInt(Long.MaxValue)).toLong

  private def optional(value: Option[BigInt]): OptionalLong =
    value.fold(OptionalLong.empty())(v => OptionalLong.of(clamp(v)))

  private def optionalValue(value: Option[Any]): java.util.Optional[Object] =
    value.fold(java.util.Optional.empty[Object]())(v =>
      java.util.Optional.of(v.asInstanceOf[Object]))
}
