package io.oap.spark

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicLong

/** Lets no direct buffer be allocated, as where all that `-XX:MaxDirectMemorySize` allows is in use. */
object NoDirectMemory {

  def apply[T](body: => T): T = {
    val bits = Class.forName("java.nio.Bits")
    def field(name: String) = {
      val field = bits.getDeclaredField(name)
      field.setAccessible(true)
      field.get(null)
    }
    ByteBuffer.allocateDirect(1) // after which the limit is known
    val reserved = field("TOTAL_CAPACITY").asInstanceOf[AtomicLong]
    val limit = field("MAX_MEMORY").asInstanceOf[java.lang.Long]
    reserved.addAndGet(limit)
    try {
      try {
        ByteBuffer.allocateDirect(1)
        throw new AssertionError("there is memory")
      } catch { case _: OutOfMemoryError => }
      body
    } finally reserved.addAndGet(-limit)
  }
}
