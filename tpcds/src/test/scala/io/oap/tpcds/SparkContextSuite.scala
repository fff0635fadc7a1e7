package io.oap.tpcds

import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.data.{DataFolder, TpcdsTable}

/** A suite with both systems in one small Spark and a folder for data. */
abstract class SparkContextSuite extends AnyFunSuite with BeforeAndAfterAll {
  protected val Scale = 0.01

  protected var systems: Systems = _
  protected var root: Path = _
  protected val silent =
    new Progress(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()), false)

  protected def spark: SparkSession = systems.sparkAlone

  protected def tables(names: String*): Seq[TpcdsTable] =
    TpcdsTable.All.filter(t => names.contains(t.name))

  private val properties = Map(
    "spark.master" -> "local[2]",
    "spark.ui.enabled" -> "false",
    "spark.oap.pool.size" -> "64m",
    "spark.sql.warehouse.dir" -> "target/spark-warehouse")

  override def beforeAll(): Unit = {
    super.beforeAll()
    root = Files.createTempDirectory("tpcds")
    // As spark-submit hands over what it was given.
    properties.foreach { case (key, value) => System.setProperty(key, value) }
    systems = Systems.start()
  }

  override def afterAll(): Unit =
    try {
      spark.stop()
      SparkSession.clearActiveSession()
      SparkSession.clearDefaultSession()
      properties.keys.foreach(System.clearProperty(_))
      DataFolder.delete(root)
    } finally {
      super.afterAll()
    }
}
