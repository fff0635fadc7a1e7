package io.oap.spark.read

import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/**
 * What one task reads, and where it is to run.
 *
 * @param executor id of the executor it belongs to; null when it may run anywhere
 * @param alternatives ids of other executors that may run it, should they have nothing else to do
 *     before the first one has a slot
 * @param isGuest whether what it reads belongs elsewhere, so that it should displace nothing there
 * @param isCold whether no pool holds anything of it
 * @param locations asked on the driver when the task's stage is submitted: the locations of all
 *     these for Spark's scheduler, or none where it is better not to wait for any
 */
final class PlacedPartition(
    index: Int,
    files: Array[PartitionedFile],
    val executor: String,
    val alternatives: Array[String],
    val isGuest: Boolean,
    isCold: Boolean,
    @transient locations: () => Seq[String])
    extends FilePartition(index, files) {

  /** Hosts of the file system's blocks are the second choice for what no pool holds. */
  override def preferredLocations(): Array[String] = {
    val first = locations().toArray
    if (first.nonEmpty && !isCold) first else first ++ super.preferredLocations()
  }
}
