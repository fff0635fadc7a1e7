package io.oap.tpcds.scale

import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import io.oap.tpcds.{Progress, SparkContextSuite}
import io.oap.tpcds.data.{DataFolder, ParquetLayout}

/** What dev/tpcds generate makes and says. */
class GenerateJobSuite extends SparkContextSuite {
  private val layout = ParquetLayout.Default.copy(codec = "zstd")

  private def generate(tables: Seq[String], partitioned: Boolean = false): Seq[String] = {
    val out = new ByteArrayOutputStream()
    val options = GenerateOptions(root.toString, Scale, tables, partitioned, "parquet", layout)
    val status = GenerateJob.generate(options, new Progress(new PrintStream(out), false))
    assert(status == 0)
    out.toString(UTF_8).linesIterator.toSeq
  }

  private def folders: Set[String] = {
    val files = Files.list(root.resolve("sf0.01"))
    try files.iterator().asScala.map(_.getFileName.toString).filter(!_.contains("_layout")).toSet
    finally files.close()
  }

  test("the tables that are asked for, in the layout that is asked for, once") {
    val said = generate(Seq("ship_mode", "inventory"))
    assert(folders == Set("ship_mode", "inventory"))
    assert(new DataFolder(root.toString, Scale).layout(spark) == layout)
    assert(said.take(2) == Seq("generating inventory", "generating ship_mode"))
    assert(said.exists(_.startsWith("generated 2 tables in ")))
    assert(said.last.startsWith(s"complete: 2 tables, ${layout.words}; "))

    // ship_mode has no date to be partitioned by.
    val more = generate(Seq("ship_mode", "inventory"), partitioned = true)
    assert(folders == Set("ship_mode", "inventory", "inventory_by_inv_date_sk"))
    assert(more.head == "generating inventory_by_inv_date_sk")
    assert(generate(Seq("ship_mode")).map(_.take(17)) == Seq("complete: 1 table"))
  }

  test("all 24 where none is named") {
    // As if they were there: they take longer than all others, and TpcdsTableSuite has their rows.
    for (large <- Seq("store_sales", "catalog_sales", "customer_demographics"))
      Files.createDirectories(root.resolve("sf0.01").resolve(large))
    assert(generate(Nil).last.startsWith("complete: 24 tables, "))
    assert(folders.count(!_.contains("_by_")) == 24)
    assert(spark.read.parquet(root.resolve("sf0.01/reason").toString).count() == 1)
  }
}
