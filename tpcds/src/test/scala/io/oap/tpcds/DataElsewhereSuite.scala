package io.oap.tpcds

import java.io.IOException
import java.net.URI
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, CompressionCodecName}
import org.apache.parquet.hadoop.util.HadoopInputFile

import io.oap.tpcds.data.{DataFolder, ParquetLayout}
import io.oap.tpcds.storage.StorageClass

/** Generation into another file system than this machine's, and in another layout than Spark's. */
class DataElsewhereSuite extends SparkContextSuite {
  private val Small = ParquetLayout("zstd", dictionary = false, 1L << 20, fileRows = 50000)

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.hadoopConfiguration
      .setClass("fs.elsewhere.impl", classOf[Elsewhere], classOf[RawLocalFileSystem])
  }

  /** Row groups of each file of a table. */
  private def rowGroups(folder: Path): Seq[Seq[BlockMetaData]] = {
    val conf = spark.sparkContext.hadoopConfiguration
    val files = folder.getFileSystem(conf).listStatus(folder).map(_.getPath)
      .filter(_.getName.endsWith(".parquet"))
    assert(files.nonEmpty)
    files.toSeq.map { file =>
      val reader = ParquetFileReader.open(HadoopInputFile.fromPath(file, conf))
      try reader.getFooter.getBlocks.asScala.toSeq
      finally reader.close()
    }
  }

  private def assertSmall(files: Seq[Seq[BlockMetaData]]): Unit =
    for (column <- files.flatten.flatMap(_.getColumns.asScala)) {
      assert(column.getCodec == CompressionCodecName.ZSTD)
      assert(column.getEncodings.asScala.forall(!_.usesDictionary))
      assert(!column.hasDictionaryPage)
    }

  test(
    "codec, encoding, row groups and rows of a file are as asked, and the folder keeps to them") {
    val folder = new DataFolder(root.resolve("small").toString, Scale)
    // Of a generation that was killed before it had said how it writes.
    Files.createDirectories(root.resolve("small/sf0.01"))
    Files.writeString(root.resolve("small/sf0.01/_layout.json.unfinished"), "{")
    folder.complete(spark, tables("time_dim"), partitioned = false, Small, silent)
    val there = new Path(root.resolve("small/sf0.01").toUri)
    val files = rowGroups(new Path(there, "time_dim"))
    assert(files.map(_.map(_.getRowCount).sum) == Seq(43200, 43200))
    assert(files.forall(_.size > 2))
    assert(files.flatten.forall(_.getTotalByteSize < 2 * Small.rowGroupBytes))
    assertSmall(files)

    assert(folder.layout(spark) == Small)
    folder.complete(spark, tables("store"), partitioned = false, silent)
    assertSmall(rowGroups(new Path(there, "store")))

    val refused = intercept[IOException] {
      folder.complete(
        spark,
        tables("ship_mode"),
        partitioned = false,
        ParquetLayout.Default,
        silent)
    }
    assert(refused.getMessage.contains(s"${Small.words}, not ${ParquetLayout.Default.words}"))
    assert(!Files.exists(root.resolve("small/sf0.01/ship_mode")))
  }

  test("a file system that only Hadoop knows") {
    val folder = new DataFolder(s"elsewhere:$root/remote", Scale)
    val some = tables("store", "ship_mode")
    folder.complete(spark, some, partitioned = false, silent)
    folder.register(spark, some, partitioned = false, StorageClass.LOCAL)
    assert(spark.table("ship_mode").count() == 20)
    assert(spark.table("store").inputFiles.forall(_.startsWith("elsewhere:")))
    val refused = intercept[Options.Rejected] {
      folder.register(spark, some, partitioned = false, StorageClass.HDD)
    }
    assert(refused.getMessage == "--storage hdd wants data of this machine")
  }

  test("a table of another number of rows than TPC-DS says is no table") {
    val folder = new DataFolder(s"elsewhere:$root/twice", Scale)
    def generate(): Unit = folder.complete(spark, tables("ship_mode"), partitioned = false, silent)
    Elsewhere.isFirstFileTwice = true
    val refused =
      try intercept[IOException](generate())
      finally Elsewhere.isFirstFileTwice = false
    assert(refused.getMessage.startsWith("ship_mode has 40 rows, TPC-DS says 20: "))
    assert(!Files.exists(root.resolve("twice/sf0.01/ship_mode")))
    generate()
    assert(spark.read.parquet(root.resolve("twice/sf0.01/ship_mode").toString).count() == 20)
  }
}

/** The local file system under another scheme. */
class Elsewhere extends RawLocalFileSystem {
  override def getScheme: String = "elsewhere"

  override def getUri: URI = URI.create("elsewhere:///")

  override def listStatus(path: Path): Array[FileStatus] = {
    val all = super.listStatus(path)
    val files = all.map(_.getPath).filter(_.getName.endsWith(".parquet"))
    if (!Elsewhere.isFirstFileTwice || files.length != 1) all
    else {
      val copy = new Path(path, s"copy-of-${files.head.getName}")
      Files.copy(pathToFile(files.head).toPath, pathToFile(copy).toPath)
      super.listStatus(path)
    }
  }
}

object Elsewhere {

  /** Whether a folder with one file of Parquet has it twice when it is listed. */
  @volatile var isFirstFileTwice = false
}
