package io.oap.spark.iceberg

import scala.collection.mutable.ArrayBuffer

import org.apache.iceberg.{
  BaseFileScanTask,
  DataFile,
  DataFiles,
  DeleteFile,
  FileScanTask,
  PartitionSpec,
  PartitionSpecParser,
  Schema,
  SchemaParser
}
import org.apache.iceberg.expressions.ResidualEvaluator
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.directory.{Directory, DirectoryReports}
import io.oap.spark.executor.{ExecutorRequest, ReportAnew}
import io.oap.spark.placement.PlacementRules
import io.oap.spark.scan.{GroupPlaces, Place}

/** Partitions of Iceberg run where what they read is held, and stay as Iceberg made them. */
class IcebergPlacementSuite extends AnyFunSuite with DirectoryReports {
  private val Length = 2000L
  private val schema = new Schema(Types.NestedField.required(1, "a", Types.LongType.get))
  private val asked = ArrayBuffer.empty[String]

  private def location(file: Int) = s"s3://lake/t/data/f$file.parquet"

  private def key(file: Int): Long =
    IcebergFileSource.placementKey(location(file), Length)

  private def file(number: Int): DataFile = DataFiles.builder(PartitionSpec.unpartitioned)
    .withPath(location(number)).withFileSizeInBytes(Length).withRecordCount(1).build()

  /** A file whole, or from its second row group on. */
  private def split(number: Int, start: Long = 0): FileScanTask = {
    val whole = new BaseFileScanTask(
      file(number),
      Array.empty[DeleteFile],
      SchemaParser.toJson(schema),
      PartitionSpecParser.toJson(PartitionSpec.unpartitioned),
      ResidualEvaluator.unpartitioned(org.apache.iceberg.expressions.Expressions.alwaysTrue)
    )
    val parts = whole.split(1000)
    if (start == 0) whole else { val all = parts.iterator; all.next(); all.next() }
  }

  private def places(
      directory: Directory,
      wait: String => Double,
      groups: Seq[FileScanTask]*): GroupPlaces = new GroupPlaces(
    directory,
    wait,
    (executor: String, request: ExecutorRequest[_]) => {
      assert(request === ReportAnew)
      asked += executor
    },
    PlacementRules(),
    Seq("a"),
    true,
    groups.toIndexedSeq.view.map(_.map(ServedFiles.partOf)),
    _ => Array.empty
  )

  test("a group goes where most of its chunks are, by the row groups of its splits") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(key(0), 0, 3))
    report(directory, "2", 0, added(key(1), 0, 3), added(key(2), 3))
    report(directory, "3", 0, added(key(2), 0))
    val found =
      places(
        directory,
        _ => 0,
        Seq(split(0)),
        Seq(split(1)),
        Seq(split(2, 1000)),
        Seq(split(0), split(1)))
    assert((0 to 2).map(found(_).executors) === Seq("1", "2", "2").map(Seq(_)))
    assert(Set("1", "2").contains(found(3).executors.head))
    assert(!found(0).isCold && !found(0).isGuest)
    assert(found.locations(found(0)) === Array("executor_host1_1"))
  }

  test("cold groups are divided, and go to the same executors again") {
    val directory = withExecutors("1", "2")
    Seq("1", "2").foreach(report(directory, _, 0))
    val groups = (0 until 40).map(number => Seq(split(number)))
    val first = places(directory, _ => 0, groups: _*)
    val executors = groups.indices.map(first(_).executors.head)
    assert(executors.toSet === Set("1", "2"))
    assert(groups.indices.forall(first(_).isCold))
    val second = places(directory, _ => 0, groups.reverse: _*)
    assert(groups.indices.map(second(_).executors.head).reverse === executors)
  }

  test("an executor that is busy for longer than reading takes is not waited for") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(key(0), 0, 3))
    report(directory, "2", 0)
    var wait = 0.0
    val found = places(directory, id => if (id == "1") wait else 0, Seq(split(0)))
    assert(found.locations(found(0)).nonEmpty)
    wait = 3600
    assert(found.locations(found(0)).isEmpty)
  }

  test("no executor, no place") {
    val found = places(new Directory(limit), _ => 0, Seq(split(0)), Nil)
    assert(found(0) === Place.Anywhere.copy(bearableWaitSeconds = found(0).bearableWaitSeconds))
    assert(found.locations(found(1)).isEmpty)
  }
}
