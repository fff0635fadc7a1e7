package io.oap.tpcds.data

import java.io.IOException
import java.nio.file.Files

import io.oap.tpcds.{RowComparison, SparkContextSuite}
import io.oap.tpcds.storage.{Pace, StorageClass}

/** Generation with Spark: what is written, what is reused, what is never read. */
class DataFolderSuite extends SparkContextSuite {
  private lazy val folder = new DataFolder(root.toString, Scale)
  private def scaleFolder = root.resolve("sf0.01")

  test("a registered table gives the generator's rows, and reading it is counted") {
    val all = tables("household_demographics", "item")
    folder.complete(spark, all, partitioned = false, silent)
    folder.register(spark, all, partitioned = false, StorageClass.LOCAL)
    for (table <- all) {
      val before = Pace.readsOfThisJvm()
      val rows = spark.table(table.name).collect().toSeq
      assert(RowComparison.difference(table.rows(Scale, 0, 1).toSeq, rows).isEmpty)
      assert(Pace.readsOfThisJvm().minus(before).bytes > 1000)
    }
    assert(spark.table("item").inputFiles.forall(_.startsWith("local:///")))
  }

  test("what is there is reused") {
    val all = tables("store")
    folder.complete(spark, all, partitioned = false, silent)
    val files = scaleFolder.resolve("store")
    val time = Files.getLastModifiedTime(files)
    folder.complete(spark, all, partitioned = false, silent)
    assert(Files.getLastModifiedTime(files) == time)
  }

  test("what a killed generation left behind is thrown away") {
    val unfinished = scaleFolder.resolve("ship_mode.unfinished")
    Files.createDirectories(unfinished)
    Files.writeString(unfinished.resolve("part-00000.parquet"), "half a file")
    folder.complete(spark, tables("ship_mode"), partitioned = false, silent)
    assert(!Files.exists(unfinished))
    assert(spark.read.parquet(scaleFolder.resolve("ship_mode").toString).count() == 20)
  }

  test("a generation that fails at the last step leaves no table behind, the next one makes it") {
    val table = scaleFolder.resolve("time_dim")
    Files.writeString(table, "a file where the folder has to be")
    intercept[IOException](folder.complete(spark, tables("time_dim"), partitioned = false, silent))
    assert(Files.isRegularFile(table))
    Files.delete(table)
    folder.complete(spark, tables("time_dim"), partitioned = false, silent)
    assert(spark.read.parquet(table.toString).count() == 86400)
  }

  test("a partitioned table has the same rows, one file in each partition") {
    // The fact table of the fewest dates, and of rows without one; made by several tasks.
    val all = tables("web_returns")
    val folder = new DataFolder(root.resolve("partitioned").toString, Scale)
    val layout = ParquetLayout.Default.copy(fileRows = 400)
    val sums = for (partitioned <- Seq(false, true)) yield {
      folder.complete(spark, all, partitioned, layout, silent)
      folder.register(spark, all, partitioned, StorageClass.LOCAL)
      spark.sql("""SELECT count(*), count(wr_returned_date_sk), sum(wr_returned_date_sk),
        sum(wr_net_loss), sum(hash(wr_returned_date_sk, wr_item_sk, wr_order_number, wr_return_tax,
        wr_refunded_customer_sk)) FROM web_returns""").collect().toSeq
    }
    assert(sums(0) == sums(1))
    assert(sums(0).head.getLong(0) == 1152 && sums(0).head.getLong(1) == 1100)
    assert(folder.files(spark, all.head, partitioned = false).size == 3)
    val made = Files.list(root.resolve("partitioned/sf0.01/web_returns_by_wr_returned_date_sk"))
    val partitions =
      try made.filter(_.getFileName.toString.startsWith("wr_returned_date_sk=")).toList
      finally made.close()
    assert(partitions.size > 800)
    partitions.forEach { partition =>
      assert(partition.toFile.list().count(_.endsWith(".parquet")) == 1)
    }
  }
}
