package io.oap.spark.rpc

/**
 * How a Parquet file is laid out, as far as placement wants to know.
 *
 * @param columns for each leaf column of the file, in its order, the top-level column it belongs to
 * @param starts first byte of each row group, ascending
 * @param chunkBytes encoded length of each column chunk, by row group * columns.length + column
 */
final case class FileLayout(
    columns: Array[String],
    starts: Array[Long],
    chunkBytes: Array[Int]) {

  /** What it takes in a report, about: names are mostly of one byte a letter. */
  def estimatedBytes: Long =
    columns.iterator.map(_.length.toLong).sum + 8L * starts.length + 4L * chunkBytes.length
}

/**
 * What an executor has taken in and given up of one file.
 *
 * Chunks are numbered as in [[FileLayout.chunkBytes]]; a set of them is written as the words of a
 * `java.util.BitSet`. The representation of a chunk does not matter here.
 *
 * @param file `FileIdentity.placementKey`
 * @param layout sent with the first report on a file, and when the driver has asked for it
 */
final case class FileDelta(
    file: Long,
    layout: Option[FileLayout],
    added: Array[Long],
    evicted: Array[Long]) {

  /** What it takes in a report, about. */
  def estimatedBytes: Long =
    layout.fold(0L)(_.estimatedBytes) + 8L * (added.length + evicted.length)
}

/**
 * One report of an executor on what its pool holds. Reports are numbered; one that says `from = 0`
 * begins anew: all that was known of the executor's chunks is to be forgotten. A large snapshot is
 * such a report and deltas that follow it, so that every message is of bounded size.
 *
 * @param executor Spark's id of the executor
 * @param from number of the report before
 * @param to number of this report
 * @param capacityBytes capacity of its pool
 * @param usedBytes what is used of it
 * @param loadBytesPerSecond how fast its tasks have read files so far; 0 while that is not known
 * @param pool the home of a pool that other executors may have, too; nothing where it is its own
 */
final case class ResidencyDelta(
    executor: String,
    from: Long,
    to: Long,
    files: Seq[FileDelta],
    capacityBytes: Long,
    usedBytes: Long,
    loadBytesPerSecond: Double = 0,
    pool: Option[String] = None)

/**
 * The driver's answer.
 *
 * @param isAccepted false when a report before this one is missing: the executor begins anew
 * @param withoutLayout files of the report of which the driver has no layout; their deltas were
 *     passed over, and the executor reports all it has of them again, with their layout
 */
final case class ResidencyReply(isAccepted: Boolean, withoutLayout: Array[Long])
