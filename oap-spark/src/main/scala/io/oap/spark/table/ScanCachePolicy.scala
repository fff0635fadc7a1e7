package io.oap.spark.table

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.oap.cache.quota.QuotaRule
import io.oap.spark.rpc.SameVersion

/**
 * How a scan treats a table's chunks in the pools: what users want of them, as it tells its tasks,
 * and whether it goes to where they are. Every cached scan sends it with its tasks.
 *
 * @param pinned columns whose chunks stay once they are there
 * @param limits quotas and minimums that the table's files count to
 * @param isPlaced whether placement may divide the scan's work; else it keeps Spark's partitions
 */
private[spark] final case class ScanCachePolicy(
    pinned: Option[PinnedColumns],
    limits: Seq[QuotaRule],
    isPlaced: Boolean)
    extends SameVersion

private[spark] object ScanCachePolicy {

  /**
   * What users want of a table that a scan reads. Remembers its quotas.
   *
   * @param table the table, where it is one of a catalog
   * @param paths where its files lie
   * @param options of the reader
   * @param refreshed the same table as the catalog knows it
   */
  def of(
      context: SparkContext,
      table: Option[CatalogTable],
      paths: Seq[Path],
      options: Map[String, String],
      selector: TableSelector,
      isPlaced: Boolean)(refreshed: CatalogTable => CatalogTable): ScanCachePolicy =
    ScanCachePolicy(
      if (selector.isPinned(table, options)) Some(PinnedColumns.All)
      else PinnedTables.of(context).of(paths),
      QuotaRegistry.of(context).isRead(table, paths)(refreshed),
      isPlaced
    )

  /** A table as the session's catalog knows it now, unless it is no more. */
  def refreshed(session: SparkSession, table: CatalogTable): CatalogTable =
    try session.sessionState.catalog.getTableMetadata(table.identifier)
    catch { case NonFatal(_) => table }
}
