package io.oap.spark.internals

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkContext, SparkThrowable}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.OapConfig
import io.oap.spark.{CacheSuite, LogLines, OapExtensions}

/** What an application is told of its settings when it starts. */
class ConfigStartSuite extends AnyFunSuite {

  private def start(settings: Seq[(String, String)])(body: SparkSession => Unit): Unit = {
    val builder = SparkSession.builder()
      .master("local[1]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.extensions", classOf[OapExtensions].getName)
    settings.foreach { case (key, value) => builder.config(key, value) }
    try body(builder.getOrCreate())
    finally {
      SparkContext.getOrCreate(new SparkConf().setMaster("local[1]").setAppName("left")).stop()
      SparkSession.clearActiveSession()
      SparkSession.clearDefaultSession()
    }
  }

  private def startFails(settings: (String, String)*): Throwable =
    intercept[IllegalArgumentException](start(settings)(_ => ()))

  for ((key, value) <- Seq(
      "spark.oap.pool.size" -> "lots",
      "spark.oap.cache.loadTimeout" -> "-5",
      "spark.oap.cache.enabled" -> "yes",
      "spark.oap.cache.tables.quotas" -> "sales.orders=half",
      "spark.oap.cache.tables.minimums" -> "a=60%, b=50%",
      "spark.oap.pool.medium" -> "disk",
      "spark.oap.numa.bind" -> "all",
      "spark.oap.numa.bind" -> "0,64"
    )) {
    test(s"$key=$value fails the start") {
      val allowed = OapConfig.ALL.asScala.find(_.key == key).get.allowed
      startFails(key -> value) match {
        case e: SparkThrowable =>
          assert(e.getCondition === "INVALID_CONF_VALUE.REQUIREMENT")
          for (word <- Seq(key, s"'$value'", allowed)) {
            assert(e.getMessage.contains(word))
          }
        case e => fail(e)
      }
    }
  }

  test("a medium that needs a path fails the start without one") {
    val e = startFails("spark.oap.pool.medium" -> "fsdax")
    assert(e.getMessage === "spark.oap.pool.medium=fsdax needs spark.oap.pool.path")
  }

  test("unknown keys are warned about once, with the nearest known key") {
    val lines = LogLines.of(start(Seq("spark.oap.cache.enabeld" -> "false")) { spark =>
      for (_ <- 1 to 2) {
        spark.conf.set("spark.oap.poolsize", "1g")
        spark.range(1).collect()
      }
    })
    assert(lines.filter(_.contains("configuration key")) === Seq(
      "There is no configuration key spark.oap.cache.enabeld; " +
        "did you mean spark.oap.cache.enabled?",
      "There is no configuration key spark.oap.poolsize; did you mean spark.oap.pool.size?"
    ))
  }

  test("known keys are not warned about") {
    val settings = OapConfig.ALL.asScala.map(entry => entry.key -> entry.defaultText).toSeq
    val lines = LogLines.of(start(settings)(_.range(1).collect()))
    assert(!lines.exists(_.contains("configuration key")), lines)
  }
}

/** What a session is told of its settings. */
class ConfigSessionSuite extends CacheSuite {

  test("a value that is not allowed is refused where it is set, and changes nothing") {
    for (key <- Seq("spark.oap.cache.enabled", "spark.oap.cache.representation")) {
      val before = spark.conf.get(key)
      for (set <- Seq(
          () => spark.conf.set(key, "maybe"),
          () => { spark.sql(s"SET $key=maybe"); () })) {
        val e = intercept[IllegalArgumentException with SparkThrowable](set())
        assert(e.getCondition === "INVALID_CONF_VALUE.REQUIREMENT")
        assert(e.getMessage.contains(key) && e.getMessage.contains("'maybe'"))
        assert(spark.conf.get(key) === before)
      }
    }
  }

  test("a static key is refused in a session") {
    val e = intercept[AnalysisException](spark.sql("SET spark.oap.pool.size=2g"))
    assert(e.getCondition === "CANNOT_MODIFY_STATIC_CONFIG")
    assert(spark.conf.get("spark.oap.pool.size") === "128m")
  }

  test("Spark lists the keys with their defaults and meanings") {
    val listed = spark.sql("SET -v").collect().map(row => row.getString(0) -> row).toMap
    OapConfig.ALL.forEach { entry =>
      assert(listed(entry.key).getAs[String]("meaning") === entry.meaning)
      assert(listed(entry.key).getAs[String]("Since version") === entry.since)
    }
  }
}
