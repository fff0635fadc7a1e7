package io.oap.spark.executor

import java.io.File
import java.nio.file.Files

import org.apache.spark.SparkException
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.cache.pool.JarVersion
import io.oap.spark.{ExecutorsSuite, LogLines}

/** An executor whose jar is of another version than the driver's. */
class VersionsSuite extends ExecutorsSuite(1) {
  private val Other = "99.9"

  /** Our classes, which say that they are of another version. */
  private def otherJar: String = {
    val root = folder.resolve("other")
    val resource = root.resolve("io/oap/cache/pool/version.properties")
    Files.createDirectories(resource.getParent)
    Files.writeString(resource, s"version=$Other\n")
    root.toString
  }

  override protected def settings: Map[String, String] = super.settings +
    ("spark.executor.extraClassPath" ->
      (otherJar + File.pathSeparator + System.getProperty("java.class.path")))

  private def assertNamesBoth(text: String): Unit =
    Seq(Other, JarVersion.TEXT, "the driver", "executor 0", "the same version").foreach { part =>
      assert(text.contains(part))
    }

  test("tasks are refused, with the cache off they are none of ours") {
    spark.range(0, 1000, 1, 2).write.parquet(path("t"))
    def query = spark.read.parquet(path("t")).selectExpr("sum(id)")
    assertNamesBoth(intercept[SparkException](query.collect()).getMessage)
    assert(alone(rows(query)) === Seq("[499500]"))
  }

  test("reports are refused, once for all in the driver's log, and SQL says why") {
    def why = spark.sql("SELECT why FROM oap.system.executors").head().getString(0)
    val lines = LogLines.ofOurs {
      spark.sparkContext.range(0, 1, 1, 1).foreach(_ => ExecutorCache.get(): Unit)
      eventually(timeout(30.seconds), interval(100.millis))(assertNamesBoth(why))
    }
    val refused = lines.filter(_.contains(Other))
    assert(refused.size === 1)
    assertNamesBoth(refused.head)
  }
}
