package io.oap.tpcds.lake

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col

import io.oap.tpcds._
import io.oap.tpcds.data.{DataFolder, TpcdsData}
import io.oap.tpcds.storage.{Pace, StorageClass}

/** Tables in another form than Parquet, with the one that needs no other library. */
class LakeFolderSuite extends SparkContextSuite {
  private val settings = Orc.settings("unused", Scale, StorageClass.LOCAL)
  private def parquet = new DataFolder(root.toString, Scale)
  private def orc = TableForm.named("orc").data(root.toString, Scale)
  private def folder = root.resolve("sf0.01/orc")

  override def beforeAll(): Unit = {
    settings.foreach { case (key, value) => System.setProperty(key, value) }
    super.beforeAll()
    makeFewReturns()
  }

  /** As the generator would, but of every twentieth date and without one, and in three files. */
  private def makeFewReturns(): Unit = {
    val table = tables("web_returns").head
    val date = table.partitionColumn.get
    val at = table.fileSchema.fieldIndex(date)
    val rows = table.rows(Scale, 0, 1).filter(row => row.isNullAt(at) || row.getInt(at) % 20 == 0)
    val frame = spark.createDataFrame(rows.toSeq.asJava, table.fileSchema).cache()
    for (partitioned <- Seq(false, true)) {
      val folder = root.resolve("sf0.01").resolve(DataFolder.nameOf(table, partitioned)).toString
      if (partitioned) frame.repartition(1).write.partitionBy(date).parquet(folder)
      else frame.repartition(3).write.parquet(folder)
    }
    frame.unpersist(): Unit
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally settings.keys.foreach(System.clearProperty(_))

  private def rows(table: String, data: TpcdsData, partitioned: Boolean): DataFrame = {
    data.complete(spark, tables(table), partitioned, silent)
    for (session <- Seq(spark, systems.oap))
      data.register(session, tables(table), partitioned, StorageClass.LOCAL)
    spark.table(table).select(tables(table).head.columnNames.map(col(_)): _*)
  }

  for (partitioned <- Seq(false, true))
    test(s"the rows of Parquet, through the cache, too; partitioned: $partitioned") {
      for (table <- Seq("web_returns", "item")) {
        val expected = rows(table, parquet, partitioned).collect().toSeq
        val found = rows(table, orc, partitioned)
        assert(found.inputFiles.forall(_.endsWith(".orc")))
        assert(RowComparison.difference(expected, found.collect().toSeq).isEmpty)
        systems.clearCache()
        val text = s"SELECT * FROM $table"
        val cold = systems.oap.sql(text)
        val before = Pace.readsOfThisJvm()
        cold.collect()
        assert(Pace.readsOfThisJvm().minus(before).bytes > 0)
        val plan = cold.queryExecution.executedPlan
        assert(ScanMetrics.of(plan).keySet == ScanMetrics.Names.toSet)
        assert(ScanMetrics.of(plan)("bytesFromFile") > 0)
        val (warm, reads) = (systems.oap.sql(text), Pace.readsOfThisJvm())
        val columns = tables(table).head.columnNames.map(col(_))
        assert(RowComparison.difference(expected, warm.select(columns: _*).collect().toSeq).isEmpty)
        assert(Pace.readsOfThisJvm().minus(reads).bytes == 0)
      }
    }

  test("a file for each file of Parquet, and one for each partition") {
    def files(table: String, data: TpcdsData, partitioned: Boolean) = {
      rows(table, data, partitioned)
      data.files(spark, tables(table).head, partitioned).size
    }
    for ((partitioned, least) <- Seq(false -> 3, true -> 30)) {
      val made = files("web_returns", orc, partitioned)
      assert(made == files("web_returns", parquet, partitioned) && made >= least)
    }
  }

  test("what is there is not made again, what is not finished is") {
    rows("ship_mode", orc, partitioned = false)
    val mark = folder.resolve("ship_mode.made")
    val time = Files.getLastModifiedTime(mark)
    rows("ship_mode", orc, partitioned = false)
    assert(Files.getLastModifiedTime(mark) == time)
    Files.delete(mark)
    Files.list(folder.resolve("ship_mode")).iterator.asScala.filter(_.toString.endsWith(".orc"))
      .foreach(Files.delete(_))
    assert(rows("ship_mode", orc, partitioned = false).count() == 20)
  }

  test("forms are those of the options, and other stores have none") {
    assert(TableForm.All.map(_.word) == Options.FORMS.asScala)
    val refused = intercept[Options.Rejected](TableForm.named("orc").data("hdfs://host/data", 1))
    assert(refused.getMessage == "--form orc wants data of this machine")
  }
}
