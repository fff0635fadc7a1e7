package io.oap.spark.executor

import java.lang.management.ManagementFactory
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import com.sun.management.OperatingSystemMXBean
import org.apache.spark.SparkConf

import io.oap.cache.pool.{Medium, PoolOptions}
import io.oap.common.OapConfig

/**
 * Whether what this process is configured to use fits into what it may use: the memory limit of its
 * control group (version 1 or 2, as the JVM finds it), or the machine's memory where there is none,
 * and no more than Spark asks YARN or Kubernetes for. A process that goes over it is killed, long
 * after it started.
 */
private[spark] object MemoryCheck {
  private val Overhead = "spark.executor.memoryOverhead"
  private val DefaultFactor = 0.1
  private val DefaultMinimum = 384L << 20

  /** What a task decodes at most on its way to vector chunks, see [[io.oap.spark.vector.Promotion]]. */
  private val OneTask = 128L << 20

  /** A pool that is smaller keeps next to nothing. */
  private val LeastPool = 64L << 20

  /** A warning if the memory of this process is too small for a pool of this capacity. */
  def here(pool: PoolOptions, capacityBytes: Long, conf: SparkConf): Option[String] =
    machine(pool, conf).flatMap(warning(_, capacityBytes, heapHere, conf))

  /**
   * A pool that fits where the default does not.
   *
   * @param bytes 0 where none fits that is worth having
   * @param inWords what there is instead of the default, and what to do
   */
  final case class Smaller(bytes: Long, inWords: String)

  /** The pool to open where nobody has set a size and the default does not fit. */
  def smallerHere(pool: PoolOptions, conf: SparkConf): Option[Smaller] =
    machine(pool, conf).flatMap(smaller(_, pool.capacityBytes, heapHere, conf))

  /** A warning if footers may take so much of the heap that queries are short of it. */
  def ofFooters(conf: SparkConf): Option[String] = {
    val bytes = OapConfig.CACHE_FOOTER_SIZE.get(conf.get(_, null)).longValue
    val heap = heapHere
    Option.when(bytes > heap / 4)(
      s"${OapConfig.CACHE_FOOTER_SIZE.key}=${inMebibytes(bytes)} is more than a quarter of the heap " +
        s"of ${inMebibytes(heap)}, which queries need, too: set it to less, or give more heap.")
  }

  private def heapHere: Long = Runtime.getRuntime.maxMemory

  /** Bytes of memory that there are, if a pool counts towards them. */
  private def machine(pool: PoolOptions, conf: SparkConf): Option[Long] =
    Some(ManagementFactory.getOperatingSystemMXBean).collect {
      case system: OperatingSystemMXBean if countsAsMemory(pool, conf) => system.getTotalMemorySize
    }

  /** Whether the pool counts towards the limit and cannot be written back to a disk. */
  private def countsAsMemory(pool: PoolOptions, conf: SparkConf): Boolean = pool.medium match {
    case Medium.DRAM | Medium.NODE => true
    case Medium.FILE =>
      pool.paths.asScala.filter(Files.exists(_)).map(Files.getFileStore(_).`type`()).exists(kind =>
        kind == "tmpfs" || isYarn(conf) && kind != "hugetlbfs")
    case Medium.FSDAX | Medium.DEVDAX => false
  }

  /** YARN counts the pages of a file that are mapped, as if they could not be written back. */
  private def isYarn(conf: SparkConf): Boolean = conf.get("spark.master", "") == "yarn"

  /** Whether the overhead is a part of what limits the process; elsewhere nobody looks at it. */
  private def isAllotted(conf: SparkConf): Boolean =
    isYarn(conf) || conf.get("spark.master", "").startsWith("k8s://")

  /**
   * @param machine bytes of memory that there are
   * @param pool bytes of the pool
   * @param heap bytes that the heap may grow to
   * @param conf tells what else Spark takes: off-heap memory, Python workers, and the overhead, of
   *     which the pool is a part
   */
  def warning(machine: Long, pool: Long, heap: Long, conf: SparkConf): Option[String] = {
    val needs = new Needs(machine, heap, conf)
    // The overhead that is set has to hold the pool; what is left of it is taken by something.
    val rest = math.max(needs.native, needs.overhead - pool)
    val sum = pool + needs.allotted + rest
    if (sum <= needs.limit) {
      None
    } else {
      val parts = Seq(
        pool -> "column chunk pool",
        heap -> "heap",
        needs.offHeap -> "off-heap memory",
        needs.python -> "Python workers",
        rest -> (if (rest == needs.native) needs.nativeInWords else "the rest of the overhead")
      )
      val inWords =
        parts.collect { case (bytes, what) if bytes > 0 => s"$what ${inMebibytes(bytes)}" }
      Some(
        s"The memory of this process is too small, it may be killed: ${inWords.mkString(" + ")} = " +
          s"${inMebibytes(sum)}, and it may use ${inMebibytes(needs.limit)}. " +
          advice(needs, pool, isOverheadLarge = rest > needs.native, conf))
    }
  }

  /**
   * The pool to open in the place of one of this capacity; see `warning` for what is reckoned. Where
   * nobody holds an executor to its limit, heaps that take all of a machine are usual, and rarely full.
   */
  def smaller(machine: Long, pool: Long, heap: Long, conf: SparkConf): Option[Smaller] = {
    val needs = new Needs(machine, heap, conf)
    val isSet = conf.contains(sizeKey(conf)) || sizeKey(conf) != OapConfig.POOL_SIZE.key
    if (!isAllotted(conf) || isSet || needs.room >= pool) {
      None
    } else {
      val bytes = if (needs.room < LeastPool) 0L else needs.room >> 20 << 20
      val instead = if (bytes == 0) "there is none" else s"the pool takes ${inMebibytes(bytes)}"
      Some(Smaller(
        bytes,
        s"The default ${OapConfig.POOL_SIZE.key} of ${inMebibytes(pool)} does not fit into the " +
          s"memory of this process, so $instead. " +
          advice(needs, pool, isOverheadLarge = false, conf)
      ))
    }
  }

  private def advice(
      needs: Needs,
      pool: Long,
      isOverheadLarge: Boolean,
      conf: SparkConf): String = {
    val enough = s"${inMebibytes(pool + needs.native)}"
    val size =
      Some(needs.room >> 20).filter(_ > 0).map(room => s"${sizeKey(conf)} to at most ${room}m")
    if (isOverheadLarge) {
      s"Let it use more, or set $Overhead to less: $enough is enough for the pool and the JVM."
    } else if (isAllotted(conf)) {
      s"Set $Overhead to at least $enough${size.fold("")(", or " + _)}."
    } else {
      s"Let it use more, or set ${size.fold("")(_ + ", or ")}a smaller heap."
    }
  }

  /** The key that says how much memory the pool takes. */
  private def sizeKey(conf: SparkConf): String =
    if (OapConfig.POOL_TIERS.get(conf.get(_, null)).memoryBytes > 0) {
      s"dram in ${OapConfig.POOL_TIERS.key}"
    } else {
      OapConfig.POOL_SIZE.key
    }

  /** What a process has beside its pool, and may have in all. */
  private final class Needs(machine: Long, heap: Long, conf: SparkConf) {
    val offHeap: Long =
      if (conf.getBoolean("spark.memory.offHeap.enabled", false)) {
        conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
      } else {
        0L
      }
    val python: Long = conf.getSizeAsMb("spark.executor.pyspark.memory", "0") << 20
    val allotted: Long = heap + offHeap + python

    private val tasks = {
      val cores =
        if (isAllotted(conf)) 1 // as Spark has it there
        else Runtime.getRuntime.availableProcessors
      math.max(
        1,
        conf.getInt("spark.executor.cores", cores) / conf.getInt("spark.task.cpus", 1))
    }

    /** What Spark reckons that a JVM takes besides its heap, when nothing is set, and what we take. */
    val native: Long =
      math.max((heap * DefaultFactor).toLong, DefaultMinimum) + tasks * OneTask

    def nativeInWords: String =
      if (tasks == 1) "the JVM and one task" else s"the JVM and $tasks tasks"

    /** What Spark asks a resource manager for besides; nothing without one. */
    val overhead: Long =
      if (!isAllotted(conf)) 0L
      else if (conf.contains(Overhead)) conf.getSizeAsMb(Overhead) << 20
      else {
        val ofPods = conf.getDouble("spark.kubernetes.memoryOverheadFactor", DefaultFactor)
        val default = if (isYarn(conf)) DefaultFactor else ofPods
        math.max(
          ((heap >> 20) * conf.getDouble(s"${Overhead}Factor", default)).toLong,
          conf.getSizeAsMb("spark.executor.minMemoryOverhead", s"${DefaultMinimum >> 20}m")) << 20
      }

    val limit: Long = if (isAllotted(conf)) math.min(machine, allotted + overhead) else machine

    /** Bytes that a pool may have; less than 0 where the rest does not fit without one. */
    val room: Long = limit - allotted - native
  }

  /** As a configuration value, rounded up. */
  private def inMebibytes(bytes: Long): String = s"${(bytes + (1L << 20) - 1) >> 20}m"
}
