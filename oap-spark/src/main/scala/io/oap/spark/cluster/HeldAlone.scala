package io.oap.spark.cluster

import java.util.IdentityHashMap

import io.oap.spark.directory.{Directory, FileChunks, KnownPool, Slots}
import io.oap.spark.executor.HotRowGroups
import io.oap.spark.placement.Hash64

/**
 * Which of the hot row groups that executors tell of they hold alone, as the Directory knows. For
 * one thread.
 *
 * @param known the pools of executors that take work
 */
private final class HeldAlone(directory: Directory, known: Array[KnownPool]) {
  private val indices = new IdentityHashMap[KnownPool, Int]
  known.indices.foreach(index => indices.put(known(index), index))

  private def index(pool: KnownPool): Int =
    if (pool == null) -1 else indices.getOrDefault(pool, -1)

  /**
   * Finds those that an executor has alone, but for the copy that is kept for its loss.
   *
   * @param holder index of the executor that tells of them
   */
  def of(told: HotRowGroups, holder: Int): Seq[HotRowGroup] =
    for {
      i <- told.files.indices
      one <- directory.look(told.files(i))((file, slots, _) => of(told, i, holder, file, slots))
        .flatten
    } yield one

  private def of(
      told: HotRowGroups,
      i: Int,
      holder: Int,
      file: FileChunks,
      slots: Slots): Option[HotRowGroup] = {
    val rowGroup = told.rowGroups(i)
    val indexOf = (0 until file.holders).map(other => index(slots.pool(file.slot(other))))
    // Of those that have a pool together each tells of it; what one has not told yet comes later.
    val own = indexOf.indexOf(holder)
    val columns = file.columns.names.length
    val chunks = (rowGroup * columns until (rowGroup + 1) * columns)
      .filter(chunk => own >= 0 && chunk < file.chunkBytes.length && file.isHeld(own, chunk))
    def bytes(holder: Int): Long =
      chunks.filter(file.isHeld(holder, _)).map(file.chunkBytes(_).toLong).sum
    Option.when(chunks.nonEmpty) {
      val key = Hash64.pieceKey(told.files(i), file.position(rowGroup))
      val keeper = directory.replica(key).fold(-1)(index)
      val others = for {
        other <- indexOf.indices if indexOf(other) >= 0 && indexOf(other) != holder
      } yield indexOf(other) -> bytes(other)
      // Each of those that have the keeper's pool tells of it, one later than another.
      val copied = others.collect { case (`keeper`, copied) => copied }.maxOption.getOrElse(0L)
      val isSafe =
        // It is itself the copy of what another one has.
        if (keeper == holder) others.exists(_._2 * 2 >= bytes(own))
        else others.exists(other => other._1 != keeper && other._2 == bytes(own))
      Option.unless(isSafe)(HotRowGroup(
        holder,
        key,
        told.files(i),
        rowGroup,
        told.bytes(i),
        told.asks(i),
        if (keeper == holder) -1 else keeper,
        // Pools may have it decoded; the Directory knows encoded lengths.
        (told.bytes(i).toDouble * copied / math.max(bytes(own), 1)).toLong,
        others.contains(keeper -> bytes(own))
      ))
    }.flatten
  }
}
