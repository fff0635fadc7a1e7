package io.oap.spark.internals

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkContext, SparkThrowable}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.OapConfig
import io.oap.spark.{CacheSuite, LogLines, OapExtensions}
import io.oap.spark.executor.MemoryCheck

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
      "spark.oap.pool.medium" -> "disk"
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

/** When the memory of a process counts as too small, and what is said then. */
class MemoryCheckSuite extends AnyFunSuite {
  private val GiB = 1L << 30
  private val none = new SparkConf(false)

  test("memory that fits, to the byte") {
    val needed = 8 * GiB + 10 * GiB + GiB
    assert(MemoryCheck.warning(needed, pool = 8 * GiB, heap = 10 * GiB, conf = none) === None)
    assert(MemoryCheck.warning(needed - 1, 8 * GiB, 10 * GiB, none).isDefined)
  }

  test("the warning says what there is, and values that fit") {
    val conf = none.clone
      .set("spark.memory.offHeap.enabled", "true")
      .set("spark.memory.offHeap.size", "1g")
      .set("spark.executor.pyspark.memory", "512m")
    val text = MemoryCheck.warning(4 * GiB, pool = 3 * GiB, heap = 2 * GiB, conf = conf).get
    assert(
      text === "The memory of this process is too small, it may be killed: column chunk pool 3072m" +
        " + heap 2048m + off-heap memory 1024m + Python workers 512m + the JVM itself 384m" +
        " = 7040m, and it may use 4096m. Set spark.executor.memoryOverhead to at least 3456m," +
        " or spark.oap.pool.size to at most 128m.")
    assert(MemoryCheck.warning(4 * GiB, pool = 128L << 20, heap = 2 * GiB, conf = conf) === None)
  }

  test("off-heap memory that is not enabled does not count") {
    val conf = none.clone.set("spark.memory.offHeap.size", "100g")
    assert(MemoryCheck.warning(4 * GiB, GiB, GiB, conf) === None)
  }

  /** What is needed with these settings for a pool of 8 GiB and a heap of 10 GiB. */
  private def needed(settings: (String, String)*): Long = {
    val conf = none.clone.setAll(settings)
    def fits(limit: Long) = MemoryCheck.warning(limit, 8 * GiB, 10 * GiB, conf).isEmpty
    val least = Iterator.iterate(18 * GiB)(_ + (64L << 20)).dropWhile(!fits(_)).next()
    assert(!fits(least - 1), s"needed is no multiple of 64 MiB with $settings")
    least
  }

  test("the overhead that is configured counts as Spark counts it, with the pool in it") {
    val overhead = "spark.executor.memoryOverhead"
    val factor = "spark.executor.memoryOverheadFactor"
    val minimum = "spark.executor.minMemoryOverhead"
    assert(needed() === 19 * GiB)
    // As much as the pool and a JVM need, or less: the same.
    assert(needed(overhead -> "9g") === 19 * GiB)
    assert(needed(overhead -> "2g") === 19 * GiB)
    assert(needed(overhead -> "12288") === 22 * GiB, "mebibytes, where there is no unit")
    assert(needed(factor -> "0.9") === 19 * GiB)
    assert(needed(factor -> "1.5") === 25 * GiB)
    assert(needed(factor -> "1.5", overhead -> "10g") === 20 * GiB, "the factor is ignored then")
    assert(needed(minimum -> "11g") === 21 * GiB)
    assert(needed(minimum -> "11g", overhead -> "10g") === 20 * GiB)
  }

  test("of a large overhead it is said what is enough") {
    val conf = none.clone.set("spark.executor.memoryOverhead", "4g")
    val text = MemoryCheck.warning(5 * GiB, pool = GiB, heap = 2 * GiB, conf = conf).get
    assert(
      text === "The memory of this process is too small, it may be killed: column chunk pool " +
        "1024m + heap 2048m + the rest of the overhead 3072m = 6144m, and it may use 5120m. Let " +
        "it use more, or set spark.executor.memoryOverhead to less: 1408m is enough for the pool " +
        "and the JVM.")
  }

  test("no smaller pool is advised when there is room for none") {
    val text = MemoryCheck.warning(2 * GiB, pool = GiB, heap = 2 * GiB, conf = none).get
    assert(text.endsWith("Set spark.executor.memoryOverhead to at least 1408m."))
  }
}
