package io.oap.tpcds.result

import org.apache.commons.math3.distribution.TDistribution
import org.apache.commons.math3.stat.StatUtils
import org.apache.commons.math3.stat.inference.TTest

/**
 * How many times as fast one system is as another, by Welch's t-test on the logarithms of their
 * times: noise of times is a factor, and so the test and the interval of the ratio are one and the
 * same.
 *
 * @param baseRuns how many times there are of the first system
 * @param baseMedian in seconds
 * @param ratio of geometric means, first over second: above 1 means that the second one is faster
 * @param low lower end of the 95 % confidence interval of `ratio`; NaN with fewer than two runs each
 * @param pValue two-sided, of the hypothesis that the two are equal
 * @param verdict in words
 */
final case class Comparison(
    baseRuns: Int,
    otherRuns: Int,
    baseMedian: Double,
    otherMedian: Double,
    ratio: Double,
    low: Double,
    high: Double,
    pValue: Double,
    verdict: String) {

  /** Whether the two differ, at the level of 5 %. */
  def isSignificant: Boolean = pValue < Comparison.Level
}

object Comparison {
  private val Level = 0.05

  /**
   * @param base times of the first system, in seconds, above 0
   * @param other times of the second system
   */
  def of(base: Seq[Double], other: Seq[Double]): Comparison = {
    val (a, b) = (base.map(math.log).toArray, other.map(math.log).toArray)
    compared(base, other, welch(a, b))
  }

  /**
   * Compares times of which each has one of the other system that was taken beside it: by Student's
   * t-test on the logarithms of their ratios, so that what hits both does not count as noise.
   */
  def paired(base: Seq[Double], other: Seq[Double]): Comparison = {
    require(base.length == other.length, s"${base.length} times beside ${other.length}")
    val ratios = base.zip(other).map { case (a, b) => math.log(a / b) }.toArray
    compared(base, other, student(ratios))
  }

  /** @param found half the width of the interval of the logarithm of the ratio, and the p-value */
  private def compared(
      base: Seq[Double],
      other: Seq[Double],
      found: (Double, Double)): Comparison = {
    val (half, pValue) = found
    val difference = math.log(Statistics.geometricMean(base) / Statistics.geometricMean(other))
    val (ratio, low, high) =
      (math.exp(difference), math.exp(difference - half), math.exp(difference + half))
    Comparison(
      base.length,
      other.length,
      Statistics.median(base),
      Statistics.median(other),
      ratio,
      low,
      high,
      pValue,
      verdict(ratio, low, high, pValue, math.min(base.length, other.length))
    )
  }

  /** The times of one system, by the same means. */
  def times(what: String, system: String, seconds: Seq[Double]): Times = {
    val logs = seconds.map(math.log).toArray
    val mean = StatUtils.mean(logs)
    val half = if (logs.length < 2) Double.NaN else halfWidth(logs)
    Times(
      what,
      system,
      logs.length,
      Statistics.median(seconds),
      math.exp(mean),
      math.exp(mean - half),
      math.exp(mean + half))
  }

  private def quantile(freedom: Double): Double =
    new TDistribution(freedom).inverseCumulativeProbability(1 - Level / 2)

  /** Half the width of the 95 % interval of the mean. */
  private def halfWidth(values: Array[Double]): Double =
    quantile(values.length - 1.0) * math.sqrt(StatUtils.variance(values) / values.length)

  /** Half that width, and the p-value of the hypothesis that the mean is 0. */
  private def student(values: Array[Double]): (Double, Double) =
    if (values.length < 2) Unknown
    else if (StatUtils.variance(values) == 0) withoutNoise(StatUtils.mean(values) == 0)
    else (halfWidth(values), new TTest().tTest(0, values))

  /** One run says nothing about noise. */
  private val Unknown = (Double.NaN, Double.NaN)

  /** Without noise any difference is one. */
  private def withoutNoise(areEqual: Boolean): (Double, Double) = (0, if (areEqual) 1 else 0)

  /** Half the width of the 95 % interval of the difference of means, and the p-value. */
  private def welch(a: Array[Double], b: Array[Double]): (Double, Double) = {
    val (va, vb) = (StatUtils.variance(a) / a.length, StatUtils.variance(b) / b.length)
    if (a.length < 2 || b.length < 2) Unknown
    else if (va + vb == 0) {
      withoutNoise(StatUtils.mean(a) == StatUtils.mean(b))
    } else {
      // Welch and Satterthwaite's degrees of freedom.
      val freedom =
        (va + vb) * (va + vb) / (va * va / (a.length - 1) + vb * vb / (b.length - 1))
      (quantile(freedom) * math.sqrt(va + vb), new TTest().tTest(a, b))
    }
  }

  private def verdict(
      ratio: Double,
      low: Double,
      high: Double,
      pValue: Double,
      runs: Int): String = {
    val reserve = if (runs < Bars.RoundsForAClaim) s"; $runs runs, too few for a claim" else ""
    if (pValue.isNaN) "one run says nothing about noise"
    else if (pValue >= Level) {
      f"no significant difference (${percent(low)} to ${percent(high)}, p = $pValue%.2g$reserve)"
    } else if (ratio >= 1) {
      f"$ratio%.2f x as fast ($low%.2f to $high%.2f, p = $pValue%.2g$reserve)"
    } else {
      f"${1 / ratio}%.2f x as slow (${1 / high}%.2f to ${1 / low}%.2f, p = $pValue%.2g$reserve)"
    }
  }

  private def percent(ratio: Double): String = f"${(ratio - 1) * 100}%+.1f %%"
}
