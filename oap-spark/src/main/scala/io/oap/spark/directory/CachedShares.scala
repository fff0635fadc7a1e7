package io.oap.spark.directory

import java.util.Locale

/**
 * What part of each column of some files the pools hold, by encoded bytes. Of a file of which
 * nothing was ever held only the length is known; its columns are taken to be as large, by its
 * length, as those of the others.
 */
private[spark] object CachedShares {

  /**
   * Computes the shares of some files, as the Directory knows them.
   *
   * @param files placement key and length of each
   * @param inFiles all names that files may have for a column. What two columns may be called counts
   *     for both
   * @return the columns in their order, each with its share from 0 to 1; 0 for unknown ones
   */
  def of(
      directory: Directory,
      files: Seq[(Long, Long)],
      columns: Seq[String],
      isCaseSensitive: Boolean,
      inFiles: String => Seq[String]): Seq[(String, Double)] = {
    def folded(name: String) = if (isCaseSensitive) name else name.toLowerCase(Locale.ROOT)
    val places = columns.zipWithIndex
      .flatMap { case (column, place) => inFiles(column).map(folded(_) -> place) }
      .distinct.groupMap(_._1)(_._2)
    val all, held = new Array[Long](columns.size)
    def add(chunks: FileChunks, slots: Slots): Unit = {
      val holders = (0 until chunks.holders).filter(h => slots.pool(chunks.slot(h)) != null)
      val placesOf = chunks.columns.names.map(name => places.getOrElse(folded(name), Nil))
      for {
        chunk <- chunks.chunkBytes.indices
        place <- placesOf(chunk % placesOf.length)
      } {
        all(place) += chunks.chunkBytes(chunk)
        if (holders.exists(chunks.isHeld(_, chunk))) held(place) += chunks.chunkBytes(chunk)
      }
    }
    val known = files.filter { case (key, _) =>
      directory.look(key)((chunks, slots, _) => add(chunks, slots)).isDefined
    }
    val (length, knownLength) = (files.map(_._2).sum, known.map(_._2).sum)
    columns.zipWithIndex.map { case (name, place) =>
      val ofKnown = if (all(place) == 0) 0.0 else held(place).toDouble / all(place)
      name -> (if (length == 0) 0.0 else ofKnown * knownLength / length)
    }
  }
}
