package io.oap.spark

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

  /** A warning for the log if the memory of this process is too small. */
  def here(pool: PoolOptions, conf: SparkConf): Option[String] =
    ManagementFactory.getOperatingSystemMXBean match {
      case system: OperatingSystemMXBean if countsAsMemory(pool) =>
        warning(
          limit = system.getTotalMemorySize,
          pool = pool.capacityBytes,
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
   * @param conf tells what else Spark takes: off-heap memory, Python workers, overhead
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
    val jvm = math.max((heap * 0.1).toLong, 384L << 20)
    val others = heap + offHeap + python + jvm
    if (pool + others <= limit) {
      None
    } else {
      val parts = Seq(
        pool -> "column chunk pool",
        heap -> "heap",
        offHeap -> "off-heap memory",
        python -> "Python workers",
        jvm -> "the JVM itself")
      val sum = parts.collect { case (bytes, what) if bytes > 0 => s"$what ${inMebibytes(bytes)}" }
      val smaller =
        if (limit - others >= (1L << 20)) {
          s", or spark.oap.pool.size to at most ${(limit - others) >> 20}m"
        } else {
          ""
        }
      Some(
        s"The memory of this process is too small, it may be killed: ${sum.mkString(" + ")} = " +
          s"${inMebibytes(pool + others)}, and it may use ${inMebibytes(limit)}. " +
          s"Set spark.executor.memoryOverhead to at least ${inMebibytes(pool + jvm)}$smaller.")
    }
  }

  /** As a configuration value, rounded up. */
  private def inMebibytes(bytes: Long): String = s"${(bytes + (1L << 20) - 1) >> 20}m"
}
