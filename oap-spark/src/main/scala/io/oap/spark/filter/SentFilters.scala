package io.oap.spark.filter

import java.util.UUID

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

import io.oap.spark.rpc.Wire

/**
 * Conditions of a scan on their way to its tasks. Few values go with the reader factory, of which
 * each task has a copy. Many go by a broadcast, and an executor prepares them once for all tasks.
 */
private[spark] sealed trait SentFilters extends Serializable {

  /** Whether there is a condition on values, rather than on nulls only. */
  def areOnValues: Boolean

  /** For one task, which closes them. */
  def prepare(): PreparedFilters
}

/** Conditions as one task uses them; to be closed when it ends. */
private[spark] final class PreparedFilters(val all: Seq[PreparedFilter], giveBack: () => Unit)
    extends AutoCloseable {
  override def close(): Unit = giveBack()
}

private[spark] object SentFilters {

  /** Bytes of values that go with the reader factory. */
  private[spark] val MostBytesInFactory = 64L << 10

  def of(filters: Seq[RowFilter], context: SparkContext): SentFilters = {
    val areOnValues = filters.exists(!_.isOnNulls)
    if (filters.map(_.valueBytes).sum <= MostBytesInFactory) InFactory(filters, areOnValues)
    else {
      // As bytes, because Spark's serializer may be one that must be told of our classes.
      val broadcast = context.broadcast(Wire.encode[Seq[RowFilter]](filters))
      ByBroadcast(UUID.randomUUID().toString, broadcast, areOnValues)
    }
  }

  private final case class InFactory(filters: Seq[RowFilter], areOnValues: Boolean)
      extends SentFilters {
    override def prepare(): PreparedFilters = {
      val prepared = filters.map(new PreparedFilter(_))
      new PreparedFilters(prepared, () => prepared.foreach(_.close()))
    }
  }

  /** @param id one that no other application in this process has */
  private final case class ByBroadcast(
      id: String,
      broadcast: Broadcast[Array[Byte]],
      areOnValues: Boolean)
      extends SentFilters {
    override def prepare(): PreparedFilters = {
      val shared = SharedFilters.acquire(id)(Wire.decode[Seq[RowFilter]](broadcast.value))
      new PreparedFilters(shared, () => SharedFilters.release(id))
    }
  }
}
