package io.oap.spark.directory

import java.util.Arrays

/** The columns of files with an equal schema: for each leaf the top-level column it belongs to. */
final private[spark] class FileColumns(val names: Array[String]) {
  override def equals(other: Any): Boolean = other match {
    case that: FileColumns =>
      Arrays.equals(names.asInstanceOf[Array[AnyRef]], that.names.asInstanceOf[Array[AnyRef]])
    case _ => false
  }
  override def hashCode: Int = Arrays.hashCode(names.asInstanceOf[Array[AnyRef]])
}

/**
 * A file in the Directory: its layout, and which chunks are held in which slot (see [[Slots]]).
 *
 * The sets of chunks lie behind one another in one array, each as the number of its slot and then
 * its bits. Few executors hold chunks of one file, so they are looked for from the first on. Not
 * safe for threads.
 *
 * @param chunkBytes encoded length of each column chunk, by row group * columns + column
 */
final private[spark] class FileChunks(
    val columns: FileColumns,
    val starts: Array[Long],
    val chunkBytes: Array[Int]) {
  private var held = FileChunks.Nothing

  private def words: Int = (chunkBytes.length + 63) >> 6
  private def stride: Int = words + 1

  /** What stands for a row group's first byte: the first one has what stands before it. */
  def position(rowGroup: Int): Long = if (rowGroup == 0) 0 else starts(rowGroup)

  /** Encoded bytes of all columns of a row group. */
  def rowGroupBytes(rowGroup: Int): Long = {
    val first = rowGroup * columns.names.length
    var sum = 0L
    for (column <- columns.names.indices) sum += chunkBytes(first + column)
    sum
  }

  /** Encoded bytes of the leaf columns of these ordinals. */
  def wantedBytes(rowGroup: Int, ordinals: Array[Int]): Long = {
    val first = rowGroup * columns.names.length
    var sum = 0L
    for (ordinal <- ordinals) sum += chunkBytes(first + ordinal)
    sum
  }

  /** Number of slots in which chunks of this file are held. */
  def holders: Int = held.length / stride

  /** Slot of one of them, 0 <= `holder` < `holders`. */
  def slot(holder: Int): Int = held(holder * stride).toInt

  def isHeld(holder: Int, chunk: Int): Boolean =
    (held(holder * stride + 1 + (chunk >> 6)) & (1L << chunk)) != 0

  /** Calls with the number of each chunk that a holder has. */
  def foreachHeld(holder: Int)(visit: Int => Unit): Unit = {
    val base = holder * stride + 1
    var word = 0
    while (word < words) {
      var bits = held(base + word)
      while (bits != 0) {
        visit((word << 6) + java.lang.Long.numberOfTrailingZeros(bits))
        bits &= bits - 1
      }
      word += 1
    }
  }

  /**
   * Takes chunks from a slot, then adds others to it; both are words of a bit set, of any length.
   *
   * @return change of the number of chunks held there, of their bytes, and bytes that are new there
   */
  def change(slot: Int, evicted: Array[Long], added: Array[Long]): HeldChange = {
    var holder = find(slot)
    if (holder < 0) {
      holder = holders
      held = Arrays.copyOf(held, held.length + stride)
      held(holder * stride) = slot
    }
    val result = new HeldChange
    var isEmpty = true
    for (word <- 0 until words) {
      val at = holder * stride + 1 + word
      val before = held(at)
      held(at) =
        (before & ~FileChunks.word(evicted, word) | FileChunks.word(added, word)) & inFile(word)
      result.count(this, word, before, held(at))
      isEmpty &&= held(at) == 0
    }
    if (isEmpty) remove(holder)
    result
  }

  /** Forgets all that is held in the slots chosen. */
  def forget(isForgotten: Int => Boolean): Unit =
    for (holder <- holders - 1 to 0 by -1) if (isForgotten(slot(holder))) remove(holder)

  /** Bytes of heap, about: the objects and arrays of one file with the map's own for it. */
  def estimatedBytes: Long =
    FileChunks.FixedBytes + 8L * (starts.length + held.length) + 4L * chunkBytes.length

  /** The holder with this slot, or -1. */
  def find(slot: Int): Int = {
    var holder = holders - 1
    while (holder >= 0 && this.slot(holder) != slot) holder -= 1
    holder
  }

  private def remove(holder: Int): Unit = {
    val rest = new Array[Long](held.length - stride)
    System.arraycopy(held, 0, rest, 0, holder * stride)
    System.arraycopy(
      held,
      (holder + 1) * stride,
      rest,
      holder * stride,
      rest.length - holder * stride)
    held = if (rest.isEmpty) FileChunks.Nothing else rest
  }

  /** The bits of a word that stand for chunks of the file. */
  private def inFile(word: Int): Long = {
    val chunks = chunkBytes.length - (word << 6)
    if (chunks >= 64) -1L else (1L << chunks) - 1
  }
}

/** What a report changed of what one executor holds of one file. */
final private[spark] class HeldChange {
  var chunks = 0
  var bytes = 0L
  var newBytes = 0L

  def count(file: FileChunks, word: Int, before: Long, after: Long): Unit = {
    newBytes += bytesOf(file, word, after & ~before)
    bytes += bytesOf(file, word, after & ~before) - bytesOf(file, word, before & ~after)
    chunks += java.lang.Long.bitCount(after) - java.lang.Long.bitCount(before)
  }

  private def bytesOf(file: FileChunks, word: Int, chunks: Long): Long = {
    var bits = chunks
    var sum = 0L
    while (bits != 0) {
      sum += file.chunkBytes((word << 6) + java.lang.Long.numberOfTrailingZeros(bits))
      bits &= bits - 1
    }
    sum
  }
}

private object FileChunks {
  private val Nothing = Array.emptyLongArray

  /** Entry, key and place in a linked hash map; this object; headers of three arrays. */
  private val FixedBytes = 72L + 32 + 3 * 20

  private def word(words: Array[Long], index: Int): Long =
    if (index < words.length) words(index) else 0
}
