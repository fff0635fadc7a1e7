package io.oap.spark.read

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.sources.Filter

import io.oap.spark.filter.{RowFilter, SentFilters}

/**
 * What one task reads of a scan that may have been planned with join keys.
 *
 * Spark may plan a scan several times, with other join keys or with none: those of one planning
 * hold for its partitions only. The keys themselves go to the executors once per stage.
 */
private[spark] trait PlannedInput extends InputPartition {

  /** By which the task finds its keys; 0 without any. */
  def planning: Long
}

/** Files of a scan that was planned with join keys. */
final class JoinedPartition(val files: FilePartition, override val planning: Long)
    extends PlannedInput {

  override def preferredLocations(): Array[String] = files.preferredLocations()
}

private[spark] object JoinedPartition {
  private val plannings = new AtomicLong

  /** A number that no other planning of this driver has. */
  def newPlanning(): Long = plannings.incrementAndGet()

  /** The files of a partition, whether it was planned with join keys or without. */
  def filesOf(partition: InputPartition): FilePartition = partition match {
    case joined: JoinedPartition => joined.files
    case files: FilePartition => files
    case other => throw new IllegalArgumentException(s"$other is no partition of files")
  }
}

/**
 * What the join keys of a planning say, without the keys as Spark has told them.
 *
 * @param rowGroups as filters that rule out row groups
 * @param rows as conditions on rows
 */
private[spark] final case class JoinedConditions(
    planning: Long,
    rowGroups: Array[Filter],
    rows: Seq[RowFilter])

/**
 * The conditions of a scan.
 *
 * @param own what the query itself says, for all partitions
 * @param planning the last planning with join keys
 * @param joined the query's conditions and the join keys of that planning
 */
private[spark] final case class PlannedConditions(
    own: ScanConditions,
    planning: Long,
    joined: ScanConditions) {

  def of(partition: InputPartition): ScanConditions = partition match {
    case one: PlannedInput if one.planning == planning => joined
    case _ => own
  }
}

private[spark] object PlannedConditions {

  /**
   * Sends conditions to the tasks of a scan.
   *
   * @param rows what the query itself says of rows
   * @param joined the join keys of the last planning that had any
   */
  def of(
      rows: Seq[RowFilter],
      joined: Option[JoinedConditions],
      context: SparkContext): PlannedConditions = {
    def sent(filters: Seq[RowFilter]) = SentFilters.of(RowFilter.needed(filters), context)
    val own = ScanConditions(Array.empty, sent(rows))
    joined.fold(PlannedConditions(own, 0, own)) { keys =>
      PlannedConditions(
        own,
        keys.planning,
        ScanConditions(keys.rowGroups, sent(rows ++ keys.rows)))
    }
  }
}
