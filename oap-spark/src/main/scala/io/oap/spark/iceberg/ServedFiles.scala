package io.oap.spark.iceberg

import scala.collection.IndexedSeqView
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ContentFile, FileFormat, FileScanTask, ScanTask, ScanTaskGroup}

import io.oap.spark.scan.FilePart

/** Which files of a partition are read through the cache. */
private[iceberg] object ServedFiles {

  /** Splits of data files that are, in their order. */
  def splits(group: ScanTaskGroup[ScanTask]): Seq[FileScanTask] =
    group.tasks.asScala.iterator.collect {
      case task: FileScanTask if isServed(task) => task
    }.toSeq

  /** Whether the data file of a split is. */
  def isServed(split: FileScanTask): Boolean = !split.isDataTask && isServed(split.file)

  /**
   * Data files and delete files that are, by location with their versions. Deletion vectors are blobs
   * in files of another format, a few bytes each, and are read as Iceberg does.
   */
  def byLocation(group: ScanTaskGroup[ScanTask], versions: FileVersions): Map[String, String] =
    splits(group).iterator.flatMap(task =>
      Iterator[ContentFile[_]](task.file) ++ task.deletes.asScala.iterator.filter(isServed))
      .map(file => file.location -> versions.of(file)).toMap

  /** By which the Directory knows the file of a split. */
  def placementKey(split: FileScanTask): Long =
    IcebergFileSource.placementKey(split.file.location, split.file.fileSizeInBytes)

  /** What a split reads of its data file. */
  def partOf(split: FileScanTask): FilePart =
    FilePart(placementKey(split), split.start, split.length)

  /** Data files with their lengths, by the Directory's keys. */
  def lengths(groups: Seq[ScanTaskGroup[ScanTask]]): IndexedSeqView[(Long, Long)] =
    groups.flatMap(splits).distinctBy(_.file.location).toIndexedSeq.view.map(split =>
      placementKey(split) -> split.file.fileSizeInBytes)

  /** What is encrypted is decrypted below the reader, or by it: its bytes are no chunks. */
  private def isServed(file: ContentFile[_]): Boolean =
    file.format == FileFormat.PARQUET && file.keyMetadata == null
}
