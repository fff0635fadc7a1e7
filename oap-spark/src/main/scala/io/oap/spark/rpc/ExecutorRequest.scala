package io.oap.spark.rpc

/** What the driver asks of an executor's cache. */
private[spark] sealed trait ExecutorRequest extends Serializable

/**
 * Files under a path have been removed or written anew: chunks of those that are not there any
 * more are of no use.
 *
 * @param path fully qualified, a folder or a file
 * @param left `FileIdentity.placementKey` of the files that are there now
 */
private[spark] final case class ForgetFiles(path: String, left: Array[Long])
    extends ExecutorRequest

/**
 * Row groups that are read on another executor from now on: what this one holds of them takes room
 * that it needs for its own.
 *
 * @param files `FileIdentity.placementKey` of the file of each row group
 * @param positions any byte of each row group, or one before the first
 */
private[spark] final case class ReleaseRowGroups(files: Array[Long], positions: Array[Long])
    extends ExecutorRequest

/**
 * The driver does not know all that this executor holds, or not any more: the reports begin anew,
 * with all of it.
 */
private[spark] case object ReportAnew extends ExecutorRequest
