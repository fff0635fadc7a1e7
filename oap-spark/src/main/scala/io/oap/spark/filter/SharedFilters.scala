package io.oap.spark.filter

import java.util.{LinkedHashMap => JavaLinkedHashMap}

import scala.jdk.CollectionConverters._

/**
 * Conditions with many values that are prepared in this process, for all of its tasks. Those that
 * no task uses now stay for the next one as long as they are small together. Thread-safe.
 */
private[spark] object SharedFilters {

  /** Memory of conditions that no task uses. */
  private[spark] val MostIdleBytes = 32L << 20

  private final class Shared {
    var users = 0
    @volatile private var prepared = Seq.empty[PreparedFilter]

    /** Prepares them on the first task's thread, while the others wait; anew after an error. */
    def get(filters: => Seq[RowFilter]): Seq[PreparedFilter] = synchronized {
      if (prepared.isEmpty) prepared = filters.map(new PreparedFilter(_))
      prepared
    }

    def bytes: Long = prepared.map(_.memory).sum

    def close(): Unit = prepared.foreach(_.close())
  }

  // The one used last stands last.
  private val all = new JavaLinkedHashMap[String, Shared](16, 0.75f, true)

  /**
   * Prepares conditions unless they are, for use until they are released.
   *
   * @param id of these conditions, in this process
   */
  def acquire(id: String)(filters: => Seq[RowFilter]): Seq[PreparedFilter] = {
    val shared = all.synchronized {
      val found = all.computeIfAbsent(id, _ => new Shared)
      found.users += 1
      found
    }
    try shared.get(filters)
    catch {
      case e: Throwable =>
        release(id)
        throw e
    }
  }

  /** Ends one use of them. */
  def release(id: String): Unit = all.synchronized {
    val released = all.get(id)
    released.users -= 1
    // They could not be prepared.
    if (released.users == 0 && released.bytes == 0) all.remove(id)
    var idle = all.asScala.toList.filter(_._2.users == 0)
    while (idle.map(_._2.bytes).sum > MostIdleBytes) {
      val (oldest, shared) = idle.head
      all.remove(oldest)
      shared.close()
      idle = idle.tail
    }
  }

  /** Memory of all conditions, those in use too. */
  private[spark] def bytes: Long = all.synchronized(all.values.asScala.map(_.bytes).sum)
}
