package io.oap.tpcds.cluster

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

/** What is made of rounds of queries, and how they are judged. */
class RoundsSuite extends AnyFunSuite {
  private def run(query: String, seconds: Double, pool: Long = 0, file: Long = 0): QueryRun =
    QueryRun(query, seconds, pool, file, tasksElsewhere = 2, None)

  test("a round sums its queries") {
    val different = run("q52", 2, 30, 10).copy(difference = Some("1 rows instead of 2"))
    val round = Round("auto", 1, Seq(run("q19", 1.5, 60, 0), different))
    assert(round.seconds == 3.5)
    assert(round.share == 0.9)
    assert(round.differences == Seq("q52: 1 rows instead of 2"))
    assert(RoundTable.line(round).split(" +").toSeq ==
      Seq("auto", "1", "3.50", "s", "0.0", "MB", "0.0", "MB", "90.00", "%", "4"))
    assert(RoundTable.header.length == RoundTable.line(round).length)
  }

  test("a round that read nothing has no share") {
    assert(Round("off", 1, Seq(run("q19", 1))).share == 0)
  }

  test("medians are taken of each query over the rounds") {
    val rounds = Seq(1.0, 9.0, 2.0).map(t => Round("off", 1, Seq(run("a", t), run("b", 10 * t))))
    assert(Waiting.medians(rounds) == Map("a" -> 2.0, "b" -> 20.0))
  }

  test("a pool gets its share, rounded up to its unit") {
    assert(Measured.fitting(1 << 20, 0.25) == 256 << 10)
    assert(Measured.fitting((1 << 20) + 1, 0.25) == 320 << 10)
  }

  test("memory grows when the last third of the samples is above the second") {
    assert(RandomFailures.growth(Seq(500, 1, 100, 110, 120, 120)) == 120.0 / 105)
    assert(RandomFailures.growth(Seq(10, 20, 20)) == 1)
    assert(RandomFailures.growth(Seq(10, 20)).isNaN)
  }

  test("bars are reached until one is missed, and each is said") {
    val said = ArrayBuffer.empty[String]
    val bars = new Bars(said += _)
    bars.atMost("a", 1.2, 1.2)
    bars.atLeast("b", 98, 98)
    bars.none("c", Nil)
    assert(bars.areReached && said.forall(_.startsWith("PASS")))
    bars.below("d", 3, 3)
    assert(!bars.areReached)
    bars.none("e", Seq("x", "y"))
    bars.atMost("f", Double.NaN, 1)
    bars.atLeast("g", 97.9, 98)
    assert(said.drop(3).forall(_.startsWith("FAIL")) && said.length == 7)
    assert(said(4) == "FAIL  e: x; y (bar: none)")
  }
}
