package io.oap.spark.directory

import java.util.Locale

import org.apache.hadoop.fs.FileStatus

import io.oap.common.FileIdentity

/**
 * What part of each column of some files the pools hold, by encoded bytes. Of a file of which
 * nothing was ever held only the length is known; its columns are taken to be as large, by its
 * length, as those of the others.
 */
private[spark] final class CachedShares(columns: Seq[String], isCaseSensitive: Boolean) {
  private val all = Array.fill(columns.size)(0L)
  private val held = Array.fill(columns.size)(0L)
  private var knownLength = 0L
  private var length = 0L

  private val places = columns.map(folded).zipWithIndex.toMap

  /** Adds a file of which nothing is known. */
  def addUnknown(bytes: Long): Unit = length += bytes

  /**
   * Adds a file.
   *
   * @param leaves for each column chunk its top-level column, its bytes, and whether it is held
   */
  def add(bytes: Long, leaves: Iterator[(String, Long, Boolean)]): Unit = {
    length += bytes
    knownLength += bytes
    for ((name, chunkBytes, isHeld) <- leaves; place <- places.get(folded(name))) {
      all(place) += chunkBytes
      if (isHeld) held(place) += chunkBytes
    }
  }

  /** Adds what is held of a column, beside the bytes that were added as not held. */
  def addHeld(column: String, bytes: Long): Unit =
    places.get(folded(column)).foreach(place => held(place) += bytes)

  /** The columns in their order, each with its share from 0 to 1; of unknown ones it is 0. */
  def result: Seq[(String, Double)] = columns.zipWithIndex.map { case (name, place) =>
    val ofKnown = if (all(place) == 0) 0.0 else held(place).toDouble / all(place)
    name -> (if (length == 0) 0.0 else ofKnown * knownLength / length)
  }

  private def folded(name: String): String =
    if (isCaseSensitive) name else name.toLowerCase(Locale.ROOT)
}

private[spark] object CachedShares {

  /** Computes the shares of some files, as the Directory knows them. */
  def of(
      directory: Directory,
      files: Seq[FileStatus],
      columns: Seq[String],
      isCaseSensitive: Boolean): Seq[(String, Double)] = {
    val shares = new CachedShares(columns, isCaseSensitive)
    files.foreach { file =>
      val key =
        FileIdentity.placementKey(file.getPath.toString, file.getLen, file.getModificationTime)
      val isKnown = directory.look(key) { (chunks, slots, _) =>
        val holders = (0 until chunks.holders).filter(h => slots.owner(chunks.slot(h)) != null)
        val names = chunks.columns.names
        shares.add(
          file.getLen,
          chunks.chunkBytes.indices.iterator.map(chunk =>
            (
              names(chunk % names.length),
              chunks.chunkBytes(chunk).toLong,
              holders.exists(chunks.isHeld(_, chunk))))
        )
      }.isDefined
      if (!isKnown) shares.addUnknown(file.getLen)
    }
    shares.result
  }
}
