package io.oap.spark.filescan

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/**
 * The files of a scan that reads through the cache. EXPLAIN shows the name of this class.
 *
 * @param meant knows which files there are
 * @param placement says where they are read; nothing leaves that to Spark
 */
private[spark] final class CachedFileIndex(
    private[spark] val meant: FileIndex,
    placement: Option[FilePlacement])
    extends FileIndex {

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val files = meant.listFiles(partitionFilters, dataFilters)
    placement.fold(files)(_.placed(files))
  }

  override def rootPaths: Seq[Path] = meant.rootPaths

  override def inputFiles: Array[String] = meant.inputFiles

  override def refresh(): Unit = meant.refresh()

  override def sizeInBytes: Long = meant.sizeInBytes

  override def partitionSchema: StructType = meant.partitionSchema

  override def metadataOpsTimeNs: Option[Long] = meant.metadataOpsTimeNs

  override def toString: String = meant.toString

  override def equals(other: Any): Boolean = other match {
    case that: CachedFileIndex => meant == that.meant
    case _ => false
  }

  override def hashCode(): Int = meant.hashCode()
}
