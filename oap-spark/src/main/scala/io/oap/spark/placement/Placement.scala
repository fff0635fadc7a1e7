package io.oap.spark.placement

/**
 * How pieces are placed.
 *
 * @param usesHash whether pieces that are cached nowhere are given an executor
 * @param usesResidency whether it counts what executors hold and where pieces were sent before
 * @param loadBytesPerSecond how fast a task reads the files
 */
final case class PlacementRules(
    usesHash: Boolean = true,
    usesResidency: Boolean = true,
    loadBytesPerSecond: Double = 200e6)

/**
 * Says which executor each piece of a scan belongs to. A pure function: the same pieces, in the
 * same order, and the same executors give the same places.
 */
object Placement {

  /**
   * Places the pieces of one scan.
   *
   * @param executors those of the [[DirectoryScan]] that the pieces come from, in the same order
   */
  def place(pieces: Array[Piece], executors: Array[LiveExecutor], rules: PlacementRules): Placed = {
    val places = pieces.map { piece =>
      val warm =
        piece.holdings.filter(_ => rules.usesResidency).sortBy(h => (-h.wantedBytes, -h.anyBytes))
      if (warm.nonEmpty) warm.head.executor
      else if (rules.usesResidency && piece.home >= 0) piece.home
      else if (rules.usesHash && executors.nonEmpty) hashed(piece, executors)
      else -1
    }
    Placed(places, new Array[Boolean](pieces.length))
  }

  private def hashed(piece: Piece, executors: Array[LiveExecutor]): Int = {
    val key = Mixing.pieceKey(piece.file, piece.position)
    executors.indices.maxBy(index =>
      Mixing.mix(key ^ Mixing.mix(executors(index).id.hashCode.toLong)))
  }
}
