package io.oap.spark.executor

import java.lang.management.ManagementFactory
import java.nio.file.Files

import com.sun.management.OperatingSystemMXBean
import org.apache.spark.SparkConf

import io.oap.cache.pool.{Medium, PoolOptions}

/**
 * Whether what this process is configured to use fits into what it may use: the memory limit of its
 * control group (version 1 or 2, as the JVM finds it), or the machine's memory where there is none.
 * A process that goes over it is killed, long after it started.
 */
private[spark] object MemoryCheck {
  private val Overhead = "spark.executor.memoryOverhead"
  private val DefaultFactor = 0.1
  private val DefaultMinimum = 384L << 20

  /** A warning if the memory of this process is too small for a pool of this capacity. */
  def here(pool: PoolOptions, capacityBytes: Long, conf: SparkConf): Option[String] =
    ManagementFactory.getOperatingSystemMXBean match {
      case system: OperatingSystemMXBean if countsAsMemory(pool) =>
        warning(
          limit = system.getTotalMemorySize,
          pool = capacityBytes,
          heap = Runtime.getRuntime.maxMemory,
          conf = conf)
      case _ => None
    }

  /** Whether the pool counts towards the limit and cannot be written back to a disk. */
  private def countsAsMemory(pool: PoolOptions): Boolean = pool.medium match {
    case Medium.DRAM | Medium.NODE => true
    case Medium.FILE =>
      pool.paths.stream.anyMatch(path =>
        Files.exists(path) && Files.getFileStore(path).`type`() == "tmpfs")
    case Medium.FSDAX | Medium.DEVDAX => false
  }

  /**
   * @param limit bytes that the process may use
   * @param pool bytes of the pool
   * @param heap bytes that the heap may grow to
   * @param conf tells what else Spark takes: off-heap memory, Python workers, and the overhead, of
   *     which the pool is a part
   */
  def warning(limit: Long, pool: Long, heap: Long, conf: SparkConf): Option[String] = {
    val offHeap =
      if (conf.getBoolean("spark.memory.offHeap.enabled", false)) {
        conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
      } else {
        0L
      }
    val python = conf.getSizeAsBytes("spark.executor.pyspark.memory", "0m")
    // What Spark reckons that a JVM takes besides its heap, when nothing is set.
    val jvm = math.max((heap * DefaultFactor).toLong, DefaultMinimum)
    // The overhead that is set has to hold the pool; what is left of it is taken by something.
    val rest = math.max(jvm, overhead(heap, conf) - pool)
    val others = heap + offHeap + python + rest
    if (pool + others <= limit) {
      None
    } else {
      val parts = Seq(
        pool -> "column chunk pool",
        heap -> "heap",
        offHeap -> "off-heap memory",
        python -> "Python workers",
        rest -> (if (rest == jvm) "the JVM itself" else "the rest of the overhead")
      )
      val sum = parts.collect { case (bytes, what) if bytes > 0 => s"$what ${inMebibytes(bytes)}" }
      Some(
        s"The memory of this process is too small, it may be killed: ${sum.mkString(" + ")} = " +
          s"${inMebibytes(pool + others)}, and it may use ${inMebibytes(limit)}. " +
          advice(limit, pool, others, jvm, rest))
    }
  }

  private def advice(limit: Long, pool: Long, others: Long, jvm: Long, rest: Long): String =
    if (rest > jvm) {
      s"Let it use more, or set $Overhead to less: ${inMebibytes(pool + jvm)} " +
        "is enough for the pool and the JVM."
    } else {
      val smaller =
        if (limit - others >= (1L << 20)) {
          s", or spark.oap.pool.size to at most ${(limit - others) >> 20}m"
        } else {
          ""
        }
      s"Set $Overhead to at least ${inMebibytes(pool + jvm)}$smaller."
    }

  /** What Spark asks a resource manager for besides the heap, off-heap memory and Python. */
  private def overhead(heap: Long, conf: SparkConf): Long =
    if (conf.contains(Overhead)) {
      conf.getSizeAsMb(Overhead) << 20
    } else {
      math.max(
        (heap * conf.getDouble(s"${Overhead}Factor", DefaultFactor)).toLong,
        conf.getSizeAsMb("spark.executor.minMemoryOverhead", s"${DefaultMinimum >> 20}m") << 20)
    }

  /** As a configuration value, rounded up. */
  private def inMebibytes(bytes: Long): String = s"${(bytes + (1L << 20) - 1) >> 20}m"
}
