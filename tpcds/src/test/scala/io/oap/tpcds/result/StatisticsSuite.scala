package io.oap.tpcds.result

import org.scalatest.funsuite.AnyFunSuite

/** The few numbers that the report takes from many. */
class StatisticsSuite extends AnyFunSuite {

  test("median: the middle one, or the mean of the two in the middle") {
    assert(Statistics.median(Seq(3.0)) == 3.0)
    assert(Statistics.median(Seq(9.0, 1.0, 2.0)) == 2.0)
    assert(Statistics.median(Seq(4.0, 1.0, 2.0, 100.0)) == 3.0)
    intercept[IllegalArgumentException](Statistics.median(Nil))
  }

  test("geometric mean: twice as fast and half as fast cancel out") {
    assert(math.abs(Statistics.geometricMean(Seq(2.0, 0.5)) - 1) < 1e-12)
    intercept[IllegalArgumentException](Statistics.geometricMean(Seq(1.0, 0.0)))
  }
}
