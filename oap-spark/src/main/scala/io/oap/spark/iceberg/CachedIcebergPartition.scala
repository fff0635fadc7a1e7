package io.oap.spark.iceberg

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}

import io.oap.spark.read.PlannedInput
import io.oap.spark.scan.{GroupPlaces, Place}

/**
 * A partition of Iceberg that is read through the cache, and where it is to run. What it reads and
 * its key are Iceberg's: deletes and storage-partitioned joins rest on them.
 *
 * @param iceberg Iceberg's own; its class is known to nobody else
 * @param places of all partitions of the plan, for the driver only; null where Iceberg chooses
 * @param index of this one among them
 */
private[iceberg] final class CachedIcebergPartition(
    val iceberg: InputPartition with HasPartitionKey,
    @transient places: GroupPlaces,
    index: Int,
    override val planning: Long)
    extends PlannedInput
    with HasPartitionKey {

  // Settled when its stage is submitted, before it is sent to an executor.
  private var place = Place.Anywhere

  override def partitionKey(): InternalRow = iceberg.partitionKey()

  override def preferredLocations(): Array[String] =
    if (places == null) iceberg.preferredLocations()
    else {
      place = places(index)
      val first = places.locations(place)
      if (first.nonEmpty && !place.isCold) first else first ++ iceberg.preferredLocations()
    }

  /** Whether what it reads should displace nothing on the executor of this id. */
  def isGuest(executor: String): Boolean =
    place.isGuest || belongsElsewhere(executor)

  /** Whether another executor than the one of this id is to read it. */
  def belongsElsewhere(executor: String): Boolean =
    place.executors.nonEmpty && !place.executors.contains(executor)

  /** Whether the plan did not see it on the executor of this id. */
  def isAstray(executor: String): Boolean =
    belongsElsewhere(executor) && !place.alternatives.contains(executor)
}

private[iceberg] object CachedIcebergPartition {

  /** What Iceberg's readers take. */
  def original(partition: InputPartition): InputPartition = partition match {
    case cached: CachedIcebergPartition => cached.iceberg
    case other => other
  }
}
