package io.oap.spark.executor

import org.apache.spark.{SparkConf, SparkEnv}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.{CacheSuite, LogLines}

/** When the memory of a process counts as too small, and what is said then. */
class MemoryCheckSuite extends AnyFunSuite {
  private val GiB = 1L << 30
  private val none = new SparkConf(false).set("spark.executor.cores", "1")
  private val yarn = none.clone.set("spark.master", "yarn")

  test("memory that fits, to the byte") {
    val needed = 8 * GiB + 10 * GiB + GiB + (128L << 20)
    assert(MemoryCheck.warning(needed, pool = 8 * GiB, heap = 10 * GiB, conf = none) === None)
    assert(MemoryCheck.warning(needed - 1, 8 * GiB, 10 * GiB, none).isDefined)
  }

  test("the warning says what there is, and values that fit") {
    val conf = yarn.clone
      .set("spark.memory.offHeap.enabled", "true")
      .set("spark.memory.offHeap.size", "1g")
      .set("spark.executor.pyspark.memory", "512")
      .set("spark.executor.memoryOverhead", "1g")
    val text = MemoryCheck.warning(64 * GiB, pool = 3 * GiB, heap = 2 * GiB, conf = conf).get
    assert(
      text === "The memory of this process is too small, it may be killed: column chunk pool 3072m" +
        " + heap 2048m + off-heap memory 1024m + Python workers 512m + the JVM and one task 512m" +
        " = 7168m, and it may use 4608m. Set spark.executor.memoryOverhead to at least 3584m," +
        " or spark.oap.pool.size to at most 512m.")
    assert(MemoryCheck.warning(64 * GiB, pool = 512L << 20, heap = 2 * GiB, conf = conf) === None)
    conf.set("spark.executor.memoryOverhead", "3584m")
    assert(MemoryCheck.warning(64 * GiB, pool = 3 * GiB, heap = 2 * GiB, conf = conf) === None)
  }

  test("off-heap memory that is not enabled does not count") {
    val conf = none.clone.set("spark.memory.offHeap.size", "100g")
    assert(MemoryCheck.warning(4 * GiB, GiB, GiB, conf) === None)
  }

  /** What a machine needs with these settings for a pool of 8 GiB and a heap of 10 GiB, if it fits. */
  private def needed(settings: (String, String)*): Option[Long] = {
    val conf = yarn.clone.setAll(settings)
    def fits(machine: Long) = MemoryCheck.warning(machine, 8 * GiB, 10 * GiB, conf).isEmpty
    val least = Iterator.iterate(18 * GiB)(_ + (64L << 20)).takeWhile(_ < 40 * GiB).find(fits)
    least.foreach(bytes => assert(!fits(bytes - 1), s"no multiple of 64 MiB with $settings"))
    least
  }

  test("the overhead that is configured counts as Spark counts it, with the pool in it") {
    val overhead = "spark.executor.memoryOverhead"
    val factor = "spark.executor.memoryOverheadFactor"
    val ofPods = "spark.kubernetes.memoryOverheadFactor"
    val minimum = "spark.executor.minMemoryOverhead"
    assert(needed() === None)
    // The pool, a tenth of the heap, and a task.
    assert(needed(overhead -> "9344m") === Some(10 * GiB + (9344L << 20)))
    assert(needed(overhead -> "9343m") === None)
    assert(needed(overhead -> "12288") === Some(22 * GiB), "mebibytes, where there is no unit")
    assert(needed(factor -> "0.9") === None)
    assert(needed(factor -> "1.5") === Some(25 * GiB))
    assert(needed(factor -> "1.5", overhead -> "10g") === Some(20 * GiB), "the factor is ignored")
    assert(needed(minimum -> "11g") === Some(21 * GiB))
    assert(needed(minimum -> "11g", overhead -> "10g") === Some(20 * GiB))
    assert(needed(ofPods -> "1.5") === None)
    val pods = Seq("spark.master" -> "k8s://https://host", ofPods -> "1.5")
    assert(needed(pods: _*) === Some(25 * GiB))
    assert(needed(pods :+ (factor -> "0.1"): _*) === None)
  }

  test("of a large overhead it is said what is enough") {
    val conf = yarn.clone.set("spark.executor.memoryOverhead", "4g")
    val text = MemoryCheck.warning(5 * GiB, pool = GiB, heap = 2 * GiB, conf = conf).get
    assert(
      text === "The memory of this process is too small, it may be killed: column chunk pool " +
        "1024m + heap 2048m + the rest of the overhead 3072m = 6144m, and it may use 5120m. Let " +
        "it use more, or set spark.executor.memoryOverhead to less: 1536m is enough for the pool " +
        "and the JVM.")
  }

  test("no smaller pool is advised when there is room for none") {
    val text = MemoryCheck.warning(2 * GiB, pool = GiB, heap = 2 * GiB, conf = yarn).get
    assert(text.endsWith("Set spark.executor.memoryOverhead to at least 1536m."), text)
  }

  test("where YARN or Kubernetes limit an executor, the limit is what Spark asks them for") {
    Seq("yarn", "k8s://https://host:6443").foreach { master =>
      val conf = none.clone.set("spark.master", master)
      val text = MemoryCheck.warning(64 * GiB, pool = GiB, heap = 8 * GiB, conf = conf).get
      assert(
        text === "The memory of this process is too small, it may be killed: column chunk pool " +
          "1024m + heap 8192m + the JVM and one task 948m = 10164m, and it may use 9011m. " +
          "Set spark.executor.memoryOverhead to at least 1972m.")
      val advised = conf.clone.set("spark.executor.memoryOverhead", "1972m")
      assert(MemoryCheck.warning(64 * GiB, GiB, 8 * GiB, advised) === None)
      assert(MemoryCheck.warning(64 * GiB, GiB, 8 * GiB, advised.set("spark.executor.cores", "2"))
        .exists(_.contains("the JVM and 2 tasks 1076m")))
    }
  }

  test("no overhead is spoken of where nobody counts it") {
    Seq("local[4]", "spark://host:7077").foreach { master =>
      val conf = none.clone.set("spark.master", master).set("spark.executor.cores", "1")
      val text = MemoryCheck.warning(9 * GiB, pool = 4 * GiB, heap = 8 * GiB, conf = conf).get
      assert(!text.contains("verhead"), text)
    }
  }

  test("the default pool is made smaller where Spark asks for a limit, a size that is set is not") {
    def smaller(settings: (String, String)*) =
      MemoryCheck.smaller(64 * GiB, GiB, 8 * GiB, yarn.clone.setAll(settings))
    val none = "The default spark.oap.pool.size of 1024m does not fit into the memory of this " +
      "process, so there is none. Set spark.executor.memoryOverhead to at least 1972m."
    assert(smaller() === Some(MemoryCheck.Smaller(0, none)))
    val overhead = "spark.executor.memoryOverhead"
    assert(smaller(overhead -> "1500m").map(_.bytes) === Some(552L << 20))
    assert(smaller(overhead -> "1010m").map(_.bytes) === Some(0L), "not worth having")
    assert(smaller(overhead -> "1972m") === None)
    assert(smaller("spark.oap.pool.size" -> "1g") === None)
    assert(smaller("spark.oap.pool.tiers" -> "dram:1g, file:/mnt:8g") === None)
    assert(smaller("spark.master" -> "k8s://https://host").map(_.bytes) === Some(0L))
    Seq("local[*]", "spark://host:7077").foreach { master =>
      assert(smaller("spark.master" -> master) === None)
    }
  }

  test("with tiers the advice names their key") {
    val conf = yarn.clone.set("spark.oap.pool.tiers", "dram:4g, file:/mnt:8g")
    val text = MemoryCheck
      .warning(7 * GiB, 4 * GiB, 2 * GiB, conf.set("spark.executor.memoryOverhead", "2g")).get
    assert(text.contains("dram in spark.oap.pool.tiers to at most 1536m"), text)
    assert(!text.contains("spark.oap.pool.size"), text)
  }
}

/** A pool whose size nobody has set, in a process that has no room for the default. */
class DefaultPoolSuite extends CacheSuite {
  // A pool of another suite would go on if all settings of the cache were equal.
  override protected def settings: Map[String, String] = Map("spark.oap.cache.footerSize" -> "33m")

  /** What is logged when the cache is opened as in an executor of YARN. */
  private def openedOnYarn(): Seq[String] = {
    val conf = SparkEnv.get.conf
    val master = conf.get("spark.master")
    conf.set("spark.master", "yarn")
    try LogLines.of(ExecutorCache.get())
    finally conf.set("spark.master", master)
  }

  private def readsRight(): Unit = {
    val name = path(s"t${System.nanoTime()}")
    spark.range(100).write.parquet(name)
    assertSameRows(spark.read.parquet(name))
  }

  test("there is no pool where none fits") {
    val lines = openedOnYarn().filter(_.contains("spark.oap.pool.size"))
    assert(lines.size === 1 && lines.head.contains("so there is none. Set spark.executor.memory"))
    readsRight()
    val row = spark.sql("SELECT state, why FROM oap.system.executors").head()
    assert(row.getString(0) === "off" && row.getString(1).contains("spark.oap.pool.size"))
  }

  test("the pool takes what fits") {
    spark.stop()
    spark = newApplication(
      Map("spark.oap.cache.footerSize" -> "34m", "spark.executor.memoryOverhead" -> "1g"))
    val lines = openedOnYarn().filter(_.contains("spark.oap.pool.size"))
    assert(lines.size === 1 && lines.head.contains("so the pool takes"))
    val capacity = ExecutorCache.get().get.poolStats.capacityBytes
    assert(capacity > (64L << 20) && capacity < (1L << 30))
    assert(lines.head.contains(s"takes ${capacity >> 20}m"))
    readsRight()
  }
}
