package io.oap.spark.filescan

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.FilePartition

import io.oap.cache.ColumnCache
import io.oap.spark.cluster.Cluster
import io.oap.spark.directory.Directory
import io.oap.spark.read.{HadoopFiles, OneRow, PlacedPartition, WarmReaderFactory, WarmTasks}

/** Warming of V1 scans: Spark's own reader reads all, and its rows are thrown away. */
private[spark] object WarmFiles {

  /** What loads all that a scan reads, one that reads through the cache. */
  def tasks(scan: FileSourceScanExec): WarmTasks = {
    // Only the query around the scan would know the values of its subqueries.
    val files = scan.copy(
      partitionFilters = scan.partitionFilters.filterNot(hasSubquery),
      dataFilters = scan.dataFilters.filterNot(hasSubquery)).inputRDD
    val relation = scan.relation
    val directory = Cluster.of(relation.sparkSession.sparkContext).directory
    WarmTasks(
      files.partitions.toSeq.collect {
        case one: FilePartition if one.files.nonEmpty => placed(directory, one)
      },
      new WarmFileReaders(files, _),
      Some(HadoopFiles(
        relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options),
        relation.options))
    )
  }

  private def hasSubquery(filter: Expression): Boolean =
    filter.exists(_.isInstanceOf[PlanExpression[_]])

  /** A partition that knows, in its task too, the executors that most of its bytes belong to. */
  private def placed(directory: Directory, files: FilePartition): PlacedPartition = {
    val executor = files.preferredLocations().headOption
      .filter(_.startsWith("executor_")).map(place => place.substring(place.lastIndexOf('_') + 1))
    new PlacedPartition(
      files.index,
      files.files,
      executor.toArray.flatMap(directory.having(_)),
      Array.empty,
      isGuest = false,
      isCold = true,
      locations = () => Nil)
  }
}

private final class WarmFileReaders(files: RDD[InternalRow], isPatient: Boolean)
    extends WarmReaderFactory(isPatient) {

  override protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow] =
    new OneRow(() => new TaskWarming().of(readAll(partition.asInstanceOf[FilePartition])).toRow)

  private def readAll(partition: FilePartition): Unit = {
    // They are batches where Spark's reader gives such.
    val rows: Iterator[Any] = files.compute(partition, TaskContext.get())
    while (rows.hasNext) {
      WarmReaderFactory.throwIfCancelled()
      rows.next()
    }
  }
}
