package io.oap.tpcds.result

/** The few numbers that the report takes from many. */
object Statistics {

  /** The middle value; the mean of the two middle ones when their number is even. */
  def median(values: Seq[Double]): Double = {
    require(values.nonEmpty, "median of nothing")
    val sorted = values.sorted
    val middle = sorted.length / 2
    if (sorted.length % 2 == 1) sorted(middle) else (sorted(middle - 1) + sorted(middle)) / 2
  }

  /** Of values above 0. */
  def geometricMean(values: Seq[Double]): Double = {
    require(values.nonEmpty && values.forall(_ > 0), s"geometric mean of $values")
    math.exp(values.map(math.log).sum / values.length)
  }
}
