package io.oap.spark.read

import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/**
 * What one task reads, and where it is to run.
 *
 * @param executors ids of those it belongs to, which have one pool; none when it may run anywhere
 * @param alternatives ids of other executors that may run it, should they have nothing else to do
 *     before the first ones have a slot
 * @param isGuest whether what it reads belongs elsewhere, so that it should displace nothing there
 * @param isCold whether no pool holds anything of it
 * @param locations asked on the driver when the task's stage is submitted: the locations of all
 *     these for Spark's scheduler, or none where it is better not to wait for any
 */
final class PlacedPartition(
    index: Int,
    files: Array[PartitionedFile],
    val executors: Array[String],
    val alternatives: Array[String],
    val isGuest: Boolean,
    isCold: Boolean,
    @transient locations: () => Seq[String])
    extends FilePartition(index, files) {

  /** Whether it belongs to other executors than the one of this id. */
  def belongsElsewhere(executor: String): Boolean =
    executors.nonEmpty && !executors.contains(executor)

  /** Hosts of the file system's blocks are the second choice for what no pool holds. */
  override def preferredLocations(): Array[String] = {
    val first = locations().toArray
    if (first.nonEmpty && !isCold) first else first ++ super.preferredLocations()
  }
}
