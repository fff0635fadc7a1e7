package io.oap.spark.directory

import java.util.LinkedHashMap

/**
 * A range of a file of which nobody knew yet what it holds, as a plan has given it to an executor.
 *
 * @param from its first byte
 * @param bytes its length: what the plan took its wanted columns for
 * @param wanted the columns that are to be cached
 * @param madeAt time of the plan
 */
final private case class Guess(
    executor: KnownExecutor,
    from: Long,
    bytes: Long,
    wanted: WantedColumns,
    madeAt: Long) {

  /** Bytes of the wanted columns of the row groups whose middle lies in the range. */
  def wantedBytes(file: FileChunks): Long = {
    val ordinals = wanted.ordinals(file.columns)
    file.starts.indices.iterator
      .filter { rowGroup =>
        val middle = file.starts(rowGroup) + file.rowGroupBytes(rowGroup) / 2
        from <= middle && middle < from + bytes
      }
      .map(file.wantedBytes(_, ordinals))
      .sum
  }
}

/**
 * The guesses of plans, by file, until the file's layout is known. Of the files of which the first
 * guess was made longest ago they are forgotten first. Not safe for threads.
 *
 * @param limit number of guesses remembered
 */
final private class SizeEstimates(limit: Int) {
  private val guesses = new LinkedHashMap[java.lang.Long, List[Guess]]
  private var count = 0

  def add(file: Long, guess: Guess): Unit = {
    guesses.merge(file, List(guess), (old, one) => one ::: old)
    count += 1
    while (count > limit) take(guesses.keySet.iterator.next())
  }

  /** Forgets and returns those of a file. */
  def take(file: Long): List[Guess] = {
    val taken = Option(guesses.remove(file)).getOrElse(Nil)
    count -= taken.length
    taken
  }

  def estimatedBytes: Long = count * SizeEstimates.BytesOfOne
}

private object SizeEstimates {

  /** The only one of a file: entry and key in a linked hash map, and itself in a list. */
  val BytesOfOne = 144L
}
