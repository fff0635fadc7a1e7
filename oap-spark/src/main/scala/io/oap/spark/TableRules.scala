package io.oap.spark

import io.oap.cache.TableLimit

/**
 * What users want of the chunks of a table in the pools, as a scan tells its tasks.
 *
 * @param pinned columns whose chunks stay once they are there
 * @param limits quotas and minimums that the table's files count to
 */
private[spark] final case class TableRules(
    pinned: Option[PinnedColumns],
    limits: Seq[TableLimit])
