package io.oap.spark.placement

import java.util.{BitSet, HashMap, LinkedHashMap}

import io.oap.spark.directory.Directory
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta, ResidencyReply}

/** A chunk of a simulated file. */
final case class SimulatedChunk(file: Long, number: Int)

/**
 * An executor's pool that throws out what was used longest ago, and what it reports.
 *
 * @param id Spark's id of the executor
 */
final class SimulatedPool(val id: String, val capacityBytes: Long) {
  private val chunks = new LinkedHashMap[SimulatedChunk, java.lang.Long](16, 0.75f, true)
  private val changed = new HashMap[java.lang.Long, BitSet]
  private var lastReport = 0L
  var usedBytes = 0L
  var evictedBytes = 0L

  def holds(chunk: SimulatedChunk): Boolean = chunks.containsKey(chunk)

  def held: Iterable[SimulatedChunk] = {
    import scala.jdk.CollectionConverters._
    chunks.keySet.asScala
  }

  /** Reads a chunk through the pool; returns whether it was there. */
  def read(chunk: SimulatedChunk, bytes: Long, isGuest: Boolean): Boolean = {
    val isHit = chunks.get(chunk) != null
    if (!isHit && bytes <= capacityBytes && (!isGuest || usedBytes + bytes <= capacityBytes)) {
      chunks.put(chunk, bytes)
      usedBytes += bytes
      change(chunk)
      while (usedBytes > capacityBytes) evictOldest()
    }
    isHit
  }

  /** Reports what has changed since the last report. */
  def report(directory: Directory, layouts: Long => FileLayout): Unit = {
    val files = changed.entrySet.stream.map[FileDelta] { entry =>
      delta(entry.getKey, entry.getValue, None)
    }
    val reply = send(directory, files.toArray(n => new Array[FileDelta](n)))
    changed.clear()
    if (reply.withoutLayout.nonEmpty)
      send(directory, reply.withoutLayout.map(f => delta(f, all(layouts(f)), Some(layouts(f)))))
  }

  private def send(directory: Directory, files: Array[FileDelta]): ResidencyReply = {
    val reply = directory.accept(
      ResidencyDelta(id, lastReport, lastReport + 1, files.toSeq, capacityBytes, usedBytes))
    lastReport += 1
    if (!reply.isAccepted) throw new IllegalStateException(s"report $lastReport of $id")
    reply
  }

  private def delta(file: Long, chunks: BitSet, layout: Option[FileLayout]): FileDelta = {
    val added = new BitSet
    val evicted = new BitSet
    chunks.stream.forEach(n => (if (holds(SimulatedChunk(file, n))) added else evicted).set(n))
    FileDelta(file, layout, added.toLongArray, evicted.toLongArray)
  }

  private def all(layout: FileLayout): BitSet = {
    val chunks = new BitSet
    chunks.set(0, layout.chunkBytes.length)
    chunks
  }

  private def change(chunk: SimulatedChunk): Unit =
    changed.computeIfAbsent(chunk.file, _ => new BitSet).set(chunk.number)

  /** Gives up a chunk, as the driver asks. */
  def drop(chunk: SimulatedChunk): Unit =
    Option(chunks.remove(chunk)).foreach { bytes =>
      usedBytes -= bytes
      change(chunk)
    }

  private def evictOldest(): Unit = {
    val oldest = chunks.entrySet.iterator
    val entry = oldest.next()
    usedBytes -= entry.getValue
    evictedBytes += entry.getValue
    change(entry.getKey)
    oldest.remove()
  }
}
