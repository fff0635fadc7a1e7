package io.oap.spark.placement

import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/**
 * What one task reads, and where it is to run.
 *
 * @param executor id of the executor it belongs to; null when it may run anywhere
 * @param isGuest whether what it reads belongs elsewhere, so that it should displace nothing there
 * @param isCold whether no pool holds anything of it
 * @param location asked on the driver when the task's stage is submitted: the location for Spark's
 *     scheduler, or nothing when it is better not to wait for that executor
 */
final class PlacedPartition(
    index: Int,
    files: Array[PartitionedFile],
    val executor: String,
    val isGuest: Boolean,
    isCold: Boolean,
    @transient location: () => Option[String])
    extends FilePartition(index, files) {

  /** Hosts of the file system's blocks are the second choice for what no pool holds. */
  override def preferredLocations(): Array[String] = location() match {
    case Some(only) if !isCold => Array(only)
    case first => first.toArray ++ super.preferredLocations()
  }
}
