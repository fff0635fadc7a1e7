package io.oap.spark.iceberg

import java.lang.reflect.{Constructor, Field, Method}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseScanTaskGroup, ScanTask, ScanTaskGroup, Schema, Table}
import org.apache.iceberg.io.FileIO
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.connector.read.{InputPartition, Scan}

/**
 * The class of Iceberg's partitions, which it keeps to itself. Iceberg's readers take no other, and
 * read their files by what it has for that; so a partition is made anew with another one.
 */
private[iceberg] final class PartitionShape private (
    fields: Seq[Field],
    make: Constructor[_],
    project: Method) {

  /** What the partitions of a scan of Iceberg read, planned now if it was not. */
  def taskGroups(scan: Scan): Seq[ScanTaskGroup[ScanTask]] = {
    val method = Iterator.iterate[Class[_]](scan.getClass)(_.getSuperclass).takeWhile(_ != null)
      .flatMap(_.getDeclaredMethods).find(_.getName == "taskGroups").get
    method.setAccessible(true)
    method.invoke(scan).asInstanceOf[java.util.List[ScanTaskGroup[ScanTask]]].asScala.toSeq
  }

  /** What a partition reads. */
  def taskGroup(partition: InputPartition): ScanTaskGroup[ScanTask] =
    value(PartitionShape.Tasks, partition).asInstanceOf[ScanTaskGroup[ScanTask]]

  /** The columns that are read, with all that Iceberg writes down of them. */
  def projectionText(partition: InputPartition): String =
    value(PartitionShape.Projection, partition).asInstanceOf[String]

  /** The columns that are read, with their ids. */
  def projection(partition: InputPartition): Schema =
    project.invoke(partition).asInstanceOf[Schema]

  /** By what it reads its files. */
  def fileIo(partition: InputPartition): FileIO =
    value(PartitionShape.Io, partition).asInstanceOf[Broadcast[FileIO]].value

  /** Loads delete files as Iceberg would for a partition. */
  def positionDeletes(partition: InputPartition): PositionDeletes = new PositionDeletes(
    fileIo(partition),
    value(PartitionShape.Table, partition).asInstanceOf[Broadcast[Table]].value.name,
    value(PartitionShape.KeepsDeletes, partition).asInstanceOf[Boolean]
  )

  /** Makes a partition that reads its files by something else. It stays in this process. */
  def withFileIo(partition: InputPartition, io: FileIO): InputPartition =
    remade(partition, PartitionShape.Io, new HeldHere(io))

  /** Makes a partition of some of the tasks of another one. It stays in this process. */
  def withTasks(partition: InputPartition, tasks: Seq[ScanTask]): InputPartition =
    remade(partition, PartitionShape.Tasks, new BaseScanTaskGroup[ScanTask](tasks.asJava))

  private def remade(partition: InputPartition, name: String, value: AnyRef): InputPartition = {
    val values = fields.map(field => if (field.getName == name) value else field.get(partition))
    make.newInstance(values: _*).asInstanceOf[InputPartition]
  }

  private def value(name: String, partition: InputPartition): AnyRef =
    fields.find(_.getName == name).get.get(partition)
}

private[iceberg] object PartitionShape {
  private val Io = "fileIOBroadcast"
  private val Tasks = "taskGroup"
  private val Projection = "projectionString"
  private val Table = "tableBroadcast"
  private val KeepsDeletes = "cacheDeleteFilesOnExecutors"

  /** Arguments of the constructor, in its order, as the fields that keep them are called. */
  private val Fields = Seq(
    "groupingKeyType",
    Tasks,
    Table,
    Io,
    Projection,
    "caseSensitive",
    "preferredLocations",
    KeepsDeletes)

  /**
   * Looks the class up in the Iceberg that a scan is of.
   *
   * @throws ReflectiveOperationException when that Iceberg has another one
   */
  def of(loader: ClassLoader): PartitionShape =
    of(loader.loadClass("org.apache.iceberg.spark.source.SparkInputPartition"))

  private[iceberg] def of(partitions: Class[_]): PartitionShape = {
    val fields = Fields.map(partitions.getDeclaredField(_))
    val make = partitions.getDeclaredConstructor(fields.map(_.getType): _*)
    val project = partitions.getDeclaredMethod("projection")
    (fields ++ Seq(make, project)).foreach(_.setAccessible(true))
    new PartitionShape(fields, make, project)
  }
}

/** A value in the place of one that Spark has sent. */
private final class HeldHere(io: FileIO) extends Broadcast[FileIO](-1) {
  override protected def getValue(): FileIO = io

  override def doUnpersist(blocking: Boolean): Unit = ()

  override def doDestroy(blocking: Boolean): Unit = ()
}
