package io.oap.spark.placement

/**
 * Weighted rendezvous hashing: each piece ranks all executors by a number drawn from both, and an
 * executor is ranked first by a share of the pieces that is its share of the weights. When one
 * leaves, only the pieces that ranked it first have another first one.
 *
 * The number is exponentially distributed with the weight as its rate, the least ranks first
 * (Schindelhauer, Schomaker: Weighted distributed hash tables, 2005).
 *
 * @param weights above 0
 */
final private class Rendezvous(names: Array[String], weights: Array[Double]) {
  private val seeds = names.map(name => Hash64.mix(name.hashCode.toLong ^ Rendezvous.Salt))
  private val means = weights.map(1 / _)

  /**
   * Index of the executor that ranks first of those with the lowest tier, or -1 where there is
   * none; the lower index where two rank equal.
   *
   * @param tiers by executor; [[Rendezvous.Never]] leaves it out
   * @param isNear by executor, or null: those near come before the others of their tier
   */
  def first(key: Long, tiers: Array[Int], isNear: Array[Boolean]): Int = {
    var found = -1
    var foundTier = Rendezvous.Never
    var least = Double.PositiveInfinity
    var executor = 0
    while (executor < seeds.length) {
      val tier = 2 * tiers(executor) + (if (isNear == null || isNear(executor)) 0 else 1)
      if (tier <= foundTier && tiers(executor) != Rendezvous.Never) {
        val share = draw(key, executor)
        val limit = if (tier < foundTier) Double.PositiveInfinity else least
        // A logarithm takes long; it is never below what it is compared with here.
        if ((1 - share) * means(executor) < limit) {
          val rank = -math.log(share) * means(executor)
          if (rank < limit) {
            found = executor
            foundTier = tier
            least = rank
          }
        }
      }
      executor += 1
    }
    found
  }

  /** Evenly distributed in (0, 1). Key and seed are mixed already, so that less will do. */
  private def draw(key: Long, executor: Int): Double = {
    val product = (key ^ seeds(executor)) * Rendezvous.Salt
    (((product ^ (product >>> 32)) * Rendezvous.Salt >>> 11) + 0.5) * Rendezvous.Unit
  }
}

private object Rendezvous {

  /** The tier of an executor that is not to be chosen. */
  val Never: Int = Int.MaxValue

  private val Salt = 0x9e3779b97f4a7c15L
  private val Unit = 1.0 / (1L << 53)
}
