package io.oap.spark

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._

import io.oap.cache.pool.ColumnPool
import io.oap.common.ChunkKey
import io.oap.spark.executor.ExecutorCache

/** Changes what the pool of this process holds, as a fault of its memory would. */
object DamagedPool {

  /**
   * Changes the first chunk of this kind; one that lies in the pool's first window, in one piece.
   *
   * @param change gets its bytes
   */
  def damage(isMeant: ChunkKey => Boolean)(change: ByteBuffer => Unit): Unit = {
    val cache = ExecutorCache.get().get
    val pool = field(cache, "pool").asInstanceOf[ColumnPool]
    val window = field(pool, "windows").asInstanceOf[Array[ByteBuffer]].head
    val pin = pool.pin(cache.snapshot().chunks.asScala.map(_.key).find(isMeant).get)
    try {
      val chunk = pin.piece(0)
      // The same bytes, found by what they are.
      val at = (0 until window.capacity - chunk.remaining by 64)
        .find(i => window.slice(i, chunk.remaining) == chunk).get
      change(window.slice(at, chunk.remaining))
    } finally pin.close()
  }

  /** Has the pool of this process believe for good that its disk has lost writes. */
  def loseWrites(): Unit = {
    val pool = field(ExecutorCache.get().get, "pool")
    val lost = field(pool, "lostWrites")
    field(lost, "isTold").asInstanceOf[AtomicBoolean].set(true)
  }

  private def field(of: AnyRef, name: String): AnyRef = {
    val found = of.getClass.getDeclaredField(name)
    found.setAccessible(true)
    found.get(of)
  }
}
