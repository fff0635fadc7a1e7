package io.oap.spark.scan

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  PartitionDirectory,
  PartitioningAwareFileIndex,
  PartitionSpec
}
import org.apache.spark.sql.types.StructType

/**
 * All partitions of a catalog table, as they are when a query first reads them. A plan may be made,
 * and shown, long before that, and partitions come and go meanwhile. Thread-safe.
 *
 * @param catalog what Spark alone would list by, as late
 * @param listed called with the files whenever they are listed
 */
private[spark] final class CatalogPartitions(
    session: SparkSession,
    private val catalog: CatalogFileIndex,
    listed: PartitioningAwareFileIndex => Unit)
    extends PartitioningAwareFileIndex(session, Map.empty, Some(catalog.partitionSchema)) {

  private var known: Option[PartitioningAwareFileIndex] = None

  private def files: PartitioningAwareFileIndex = synchronized {
    known = Some(known.getOrElse(list()))
    known.get
  }

  /**
   * The files that the query has read, or would now. Asking does not settle which, but where a query
   * is running: Spark shows its plan right before it reads, and should not list twice.
   */
  def shown: PartitioningAwareFileIndex = synchronized {
    val isRunning = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY) != null
    if (isRunning) files else known.getOrElse(list())
  }

  private def list(): PartitioningAwareFileIndex = {
    val now = CatalogFiles.of(session, catalog).filterPartitions(Nil)
    listed(now)
    now
  }

  override def partitionSchema: StructType = catalog.partitionSchema

  override def rootPaths: Seq[Path] = catalog.rootPaths

  override def sizeInBytes: Long = catalog.sizeInBytes

  override def partitionSpec(): PartitionSpec = files.partitionSpec()

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    files.listFiles(partitionFilters, dataFilters)

  override def allFiles(): Seq[FileStatus] = files.allFiles()

  override def inputFiles: Array[String] = shown.inputFiles

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap.from(allFiles().map(file => file.getPath -> file))

  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    allFiles().toArray.groupBy(_.getPath.getParent)

  override def refresh(): Unit = synchronized {
    catalog.refresh()
    known = None
  }

  // As Spark compares what it lists by.
  override def equals(other: Any): Boolean = other match {
    case that: CatalogPartitions => catalog == that.catalog
    case _ => false
  }

  override def hashCode(): Int = catalog.hashCode()
}
