package io.oap.tpcds.cluster

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.result.{Bars, MeasuredSystem, QueryRun, Round}

/** What is made of rounds of queries, and how they are judged. */
class ClusterRoundsSuite extends AnyFunSuite {
  private def run(query: String, seconds: Double, pool: Long = 0, file: Long = 0): QueryRun =
    QueryRun(
      query,
      seconds,
      Map("bytesFromPool" -> pool, "bytesFromFile" -> file, "tasksElsewhere" -> 2L),
      1)

  test("a round sums its queries") {
    val different = run("q52", 2, 30, 10).copy(difference = "1 rows instead of 2")
    val round = Round.inARow("auto", 1, Seq(run("q19", 1.5, 60, 0), different))
    assert(round.seconds == 3.5)
    assert(round.share == 0.9)
    assert(round.differences == Seq("q52: 1 rows instead of 2"))
    assert(RoundTable.line(round).split(" +").toSeq ==
      Seq("auto", "1", "3.50", "s", "0.0", "MB", "0.0", "MB", "90.00", "%", "4"))
    assert(RoundTable.header.length == RoundTable.line(round).length)
  }

  test("a round that read nothing has no share") {
    assert(Round.inARow("off", 1, Seq(run("q19", 1))).share == 0)
  }

  test("queries that the extension did not serve are wrong, but for Spark alone") {
    val runs = Seq(run("q19", 1, 60, 0), run("q52", 2), run("q68", 3).copy(difference = "x"))
    val served = Round.served("off", 1, runs)
    assert(served.differences ==
      Seq("q52: the extension served none of the scans", "q68: x"))
    val alone = Round.served(Round.SparkAlone, 1, runs)
    assert(alone.differences == Seq("q68: x"))
    assert(RoundTable.line(alone).split(" +").toSeq ==
      Seq("spark", "1", "6.00", "s", "-", "-", "-", "-"))
    assert(RoundTable.header.length == RoundTable.line(alone).length)
  }

  test("a slower query is one that is slower beyond what times scatter") {
    val queries = Seq("a", "b", "c")
    def judged(slower: Map[String, Double]): (Boolean, Seq[String]) = {
      def rounds(placement: String, factors: Map[String, Double]) = (1 to 10).map { number =>
        // What hits a round and the one beside it, and what hits one of them only.
        val noise = 20.0 / number * (if (number % 2 == 0) 1 else factors.getOrElse("noise", 1.0))
        Round.inARow(placement, number, queries.map(q => run(q, noise * factors.getOrElse(q, 1.0))))
      }
      val said = ArrayBuffer.empty[String]
      val bars = new Bars(said += _)
      val all = rounds("auto", slower + ("noise" -> 1.1)) ++ rounds("off", Map.empty)
      Waiting.judge("alone", queries, all, said += _, bars)
      (bars.areReached, said.toSeq)
    }
    assert(judged(queries.map(_ -> 0.9).toMap)._1)
    val (one, said) = judged(Map("b" -> 1.4, "a" -> 0.7, "c" -> 0.7))
    assert(!one && said(1).startsWith("FAIL") && said(1).contains(": b 1.47 ") &&
      said(2).startsWith("PASS"))
    // None of them for certain, but all together.
    val (all, why) = judged(queries.map(_ -> 1.03).toMap)
    assert(!all && why(1).startsWith("PASS") && why(2).startsWith("FAIL"))
  }

  test("a pool gets its share, rounded up to its unit") {
    assert(MeasuredSystem.fitting(1 << 20, 0.25) == 256 << 10)
    assert(MeasuredSystem.fitting((1 << 20) + 1, 0.25) == 320 << 10)
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
