package io.oap.spark.table

import io.oap.cache.quota.QuotaRule

/**
 * How a scan treats a table's chunks in the pools: what users want of them, as it tells its tasks,
 * and whether it goes to where they are.
 *
 * @param pinned columns whose chunks stay once they are there
 * @param limits quotas and minimums that the table's files count to
 * @param isPlaced whether placement may divide the scan's work; else it keeps Spark's partitions
 */
private[spark] final case class ScanCachePolicy(
    pinned: Option[PinnedColumns],
    limits: Seq[QuotaRule],
    isPlaced: Boolean)
