package io.oap.spark

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

/** Memory of this process outside of what the JVM manages itself. */
object NativeMemory {

  /**
   * Bytes that C code has allocated, about: what the process may write to without what the JVM has
   * committed for its heap, its code and its classes.
   */
  def heldByMalloc(): Long = {
    val line = Files.readAllLines(Path.of("/proc/self/status")).asScala
      .find(_.startsWith("VmData:")).get
    val writable = line.split("\\s+")(1).toLong << 10
    writable - ManagementFactory.getMemoryPoolMXBeans.asScala.map(_.getUsage.getCommitted).sum
  }
}
