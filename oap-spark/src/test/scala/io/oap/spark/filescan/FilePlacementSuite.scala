package io.oap.spark.filescan

import org.apache.hadoop.fs.LocatedFileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.PartitionedFileUtil
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.cluster.Cluster
import io.oap.spark.placement.PlacementRules

/** Where the files of a V1 scan are to be read, as Spark is told. */
class FilePlacementSuite extends CacheSuite {

  private def placement(rules: PlacementRules) =
    new FilePlacement(spark, SQLConf.get, Seq("id"), rules)

  private def files(path: String): Seq[FileStatusWithMetadata] = {
    val folder = new org.apache.hadoop.fs.Path(path)
    val fs = folder.getFileSystem(spark.sparkContext.hadoopConfiguration)
    fs.listStatus(folder).toSeq.filter(_.getPath.getName.endsWith(".parquet"))
      .map(FileStatusWithMetadata(_, Map("of" -> "delta")))
  }

  private def hosts(file: FileStatusWithMetadata): Seq[String] =
    PartitionedFileUtil.getPartitionedFile(file, file.getPath, InternalRow.empty, 0, file.getLen)
      .locations.toSeq

  test("files are told the executor that holds them, and keep all else") {
    spark.range(0, 10000, 1, 3).write.options(rowGroupsOf(1000)).parquet(path("t"))
    spark.read.parquet(path("t")).agg("id" -> "sum").collect()
    val directories = Seq(PartitionDirectory(InternalRow(1), files(path("t"))))
    Cluster.of(spark.sparkContext).askFigures()
    assert(CacheControl.held(spark).values.exists(_.chunks.nonEmpty))
    val placed = placement(PlacementRules()).placed(directories)
    assert(placed.map(_.values) === directories.map(_.values))
    for ((before, after) <- directories.flatMap(_.files).zip(placed.flatMap(_.files))) {
      assert(after.getPath === before.getPath)
      assert(after.getLen === before.getLen)
      assert(after.getModificationTime === before.getModificationTime)
      assert(after.metadata === before.metadata)
      assert(after.fileStatus.isInstanceOf[LocatedFileStatus])
      assert(hosts(after).exists(_.matches("executor_.*_driver")), hosts(after))
    }
  }

  test(
    "of many executors that have one pool each file names others, and no more than Spark takes") {
    val all = Array("a", "b", "c", "d", "other", "block")
    val named = (0 to 4).map(FilePlacement.named(all, sharers = 4, _).mkString)
    assert(named === Seq("abc", "bcd", "cda", "dab", "abc"))
    assert(FilePlacement.named(all, sharers = 2, 1) === Array("b", "a", "c"))
    assert(FilePlacement.named(all, sharers = 1, 3) === all, "Spark chooses")
    assert(
      FilePlacement.named(Array("block"), sharers = 2, 0) === Array("block"),
      "none may be waited for")
  }

  test("a Directory that fails leaves the files as they are") {
    val directories = Seq(PartitionDirectory(InternalRow(1), Seq(null: FileStatusWithMetadata)))
    assert(placement(PlacementRules()).placed(directories) === directories)
  }
}
