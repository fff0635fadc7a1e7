package io.oap.tpcds.result

import scala.util.Random

import org.apache.commons.math3.distribution.BinomialDistribution
import org.scalatest.funsuite.AnyFunSuite

/** The statistics, on numbers worked out elsewhere and on simulated systems. */
class ComparisonSuite extends AnyFunSuite {
  private val Repeats = 4000

  test("ratio, interval and p-value of a worked example") {
    // Worked out from Welch's formulas by hand: t = 3.857 with 6.861 degrees of freedom, of which
    // the 97.5 % quantile is 2.374.
    val c = Comparison.of(Seq(3.0, 3.5, 4.1, 3.3), Seq(2.1, 2.0, 3.1, 1.9, 2.4))
    assert(math.abs(c.ratio - ComparisonSuite.Ratio) < 1e-4)
    assert(math.abs(c.low - ComparisonSuite.Low) < 1e-3)
    assert(math.abs(c.high - ComparisonSuite.High) < 1e-3)
    assert(math.abs(c.pValue - ComparisonSuite.P) < 1e-4)
    assert(c.baseRuns == 4 && c.otherRuns == 5 && c.baseMedian == 3.4 && c.otherMedian == 2.1)
    assert(c.isSignificant)
    assert(c.verdict.contains("x as fast") && c.verdict.contains("4 runs, too few for a claim"))
  }

  test("ratio, interval and p-value of a worked example in pairs") {
    // Logarithms of the ratios: mean .436986, standard error .0704196, three degrees of freedom, of
    // which the 97.5 % quantile is 3.18245.
    val c = Comparison.paired(Seq(3.0, 3.5, 4.1, 3.3), Seq(2.1, 2.0, 3.1, 1.9))
    assert(math.abs(c.ratio - 1.54803) < 1e-4)
    assert(math.abs(c.low - 1.23724) < 1e-4 && math.abs(c.high - 1.93691) < 1e-4)
    assert(math.abs(c.pValue - 0.0084327) < 1e-6)
    assert(Comparison.paired(Seq(1.0), Seq(2.0)).low.isNaN)
    assert(!Comparison.paired(Seq(2.0, 3.0), Seq(2.0, 3.0)).isSignificant)
    assert(Comparison.paired(Seq(2.0, 4.0), Seq(1.0, 2.0)).isSignificant)
    assertThrows[IllegalArgumentException](Comparison.paired(Seq(1.0, 2.0), Seq(1.0)))
  }

  test("what hits both of a pair is no noise") {
    for ((noise, name) <- ComparisonSuite.noises; factor <- Seq(1.0, 1.3)) {
      val random = new Random(seed)
      val all = Seq.fill(Repeats) {
        val both = Seq.fill(10)(math.exp(random.nextGaussian()))
        Comparison.paired(both.map(_ * factor * noise(random)), both.map(_ * noise(random)))
      }
      assert(all.map(c => c.high / c.low).sum / Repeats < 2, s"$name, seed $seed")
      val outside = all.count(c => factor < c.low || factor > c.high)
      assert(outside <= byChance, s"$name, factor $factor: $outside of $Repeats, seed $seed")
    }
  }

  test("exchanging the two turns the ratio and its interval around") {
    val (a, b) = (Seq(3.0, 3.5, 4.1, 3.3), Seq(2.1, 2.0, 3.1, 1.9, 2.4))
    val (there, back) = (Comparison.of(a, b), Comparison.of(b, a))
    assert(math.abs(there.ratio * back.ratio - 1) < 1e-12)
    assert(math.abs(there.low * back.high - 1) < 1e-12)
    assert(there.pValue == back.pValue)
    assert(back.verdict.contains("x as slow"))
  }

  test("the mean of one system and its interval, of a worked example") {
    // Logarithms of the first three: mean 1.25412, standard error 0.090177, 97.5 % quantile: 4.30265.
    val times = Comparison.times("round", "s", Seq(3.0, 3.5, 4.1))
    assert(times.runs == 3 && times.median == 3.5)
    assert(math.abs(times.mean - 3.50476) < 1e-4)
    assert(math.abs(times.low - 2.37766) < 1e-4 && math.abs(times.high - 5.16612) < 1e-4)
    assert(Comparison.times("round", "s", Seq(2.0)).low.isNaN)
  }

  test("one run is no statistics, and runs without noise differ or do not") {
    val single = Comparison.of(Seq(1.0), Seq(2.0, 2.1))
    assert(!single.isSignificant && single.low.isNaN && single.verdict.contains("one run"))
    assert(!Comparison.of(Seq(2.0, 2.0), Seq(2.0, 2.0)).isSignificant)
    assert(Comparison.of(Seq(2.0, 2.0), Seq(1.0, 1.0)).isSignificant)
  }

  test("ten runs of each carry a claim") {
    val runs = (1 to 10).map(i => 1 + i / 100.0)
    assert(!Comparison.of(runs, runs.map(_ * 2)).verdict.contains("too few"))
    assert(Comparison.of(runs.tail, runs.map(_ * 2)).verdict.contains("9 runs, too few"))
  }

  test("equal systems are called equal in 95 % of repeats, whatever the noise looks like") {
    for ((noise, name) <- ComparisonSuite.noises) {
      val random = new Random(seed)
      val called = (1 to Repeats).count { _ =>
        val (a, b) = (Seq.fill(10)(noise(random)), Seq.fill(10)(noise(random)))
        val c = Comparison.of(a, b)
        assert(c.isSignificant != c.verdict.contains("no significant difference"))
        c.isSignificant
      }
      assert(called <= byChance, s"$name: $called of $Repeats, seed $seed")
      info(f"$name: equal in ${100.0 - 100.0 * called / Repeats}%.2f %% of $Repeats repeats")
    }
  }

  test("a known speed-up lies within its interval in 95 % of repeats, and is found") {
    for ((noise, name) <- ComparisonSuite.noises; factor <- Seq(1.1, 1.66, 8.0)) {
      val random = new Random(seed)
      val all = Seq.fill(Repeats) {
        Comparison.of(Seq.fill(10)(factor * noise(random)), Seq.fill(10)(noise(random)))
      }
      val outside = all.count(c => factor < c.low || factor > c.high)
      assert(outside <= byChance, s"$name, factor $factor: $outside of $Repeats, seed $seed")
      if (factor > 1.5) assert(all.count(_.isSignificant) > 0.99 * Repeats, s"$name, seed $seed")
    }
  }

  /** How often a rate of 5 % is reached in so many repeats: more is not chance. */
  private val byChance =
    new BinomialDistribution(null, Repeats, 0.05).inverseCumulativeProbability(0.999)

  private lazy val seed = {
    val number = sys.env.get("OAP_SEED").map(_.toLong).getOrElse(20261121L)
    info(s"seed $number")
    number
  }
}

private object ComparisonSuite {
  val Ratio = 1.52548
  val Low = 1.17625
  val High = 1.97839
  val P = 0.00648

  /** Times of about two seconds, with noise of several kinds and sizes. */
  val noises: Seq[(Random => Double, String)] = Seq(
    ((r: Random) => 2 * math.exp(0.02 * r.nextGaussian()), "2 % noise"),
    ((r: Random) => 2 * math.exp(0.2 * r.nextGaussian()), "20 % noise"),
    ((r: Random) => 2 + 0.3 * r.nextDouble(), "uniform noise"),
    (
      (r: Random) => 2 * math.exp(0.02 * r.nextGaussian()) * (if (r.nextInt(20) == 0) 1.5 else 1),
      "one run in twenty 50 % longer")
  )
}
