package io.oap.tpcds.result

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.Circumstances

/** What results say of the bars that they have to reach. */
class BarsSuite extends AnyFunSuite {
  private val facts = Circumstances("", Map.empty, Map.empty, Map.empty, Map.empty)

  private def result(
      scenario: String,
      comparisons: Seq[Compared],
      systems: Seq[MeasuredSystem] = Nil): Result = {
    val plan = MadePlans.plan(Nil).copy(scenario = scenario)
    Result(plan, Nil, facts, 0, systems, Nil, Nil, comparisons)
  }

  private def compared(
      base: String,
      other: String,
      ratio: Double,
      low: Double,
      high: Double,
      runs: (Int, Int) = (10, 10),
      what: String = "round"): Compared =
    Compared(what, base, other, Comparison(runs._1, runs._2, 1, 1, ratio, low, high, 0.5, ""))

  /** The only verdict where two systems compare so; measured the other way round it is no other. */
  private def verdict(
      scenario: String,
      base: String,
      other: String,
      ratio: Double,
      low: Double,
      high: Double,
      runs: (Int, Int) = (10, 10)): String = {
    val there = compared(base, other, ratio, low, high, runs)
    val back = compared(other, base, 1 / ratio, 1 / high, 1 / low, runs.swap)
    val found = Seq(there, back).map(c => Bars.judge(result(scenario, Seq(c))).map(_.verdict))
    assert(found.forall(_.size == 1) && found.distinct.size == 1, found)
    found.head.head
  }

  test("every factor that is to be reached") {
    for {
      (scenario, slow, fast, bar) <- Seq(
        ("fit-large-only", "small-lru", "large", 8.0),
        ("fit-large-only", "small-lru", "small", 1.5),
        ("fit-none", "small-lru", "small", 1.66),
        ("fit-none", "large-lru", "large", 1.66)
      )
      (low, high, said) <- Seq(
        (bar + 0.0001, bar + 2, "holds"),
        (bar - 0.01, bar + 2, "not certain"),
        (bar - 0.5, bar + 0.0001, "not certain"),
        (bar - 0.5, bar - 0.01, "does not hold"))
    } assert(verdict(scenario, slow, fast, (low + high) / 2, low, high) == said, (scenario, low))
  }

  test("a bar says what was measured") {
    val found = Bars.judge(result("fit-none", Seq(compared("small", "small-lru", 0.5, 0.4, 0.8))))
    assert(found == Seq(Judged(
      "fit-none",
      "our policy over LRU in the small pool",
      "at least 1.66 x",
      "2.00 x (1.25 to 2.50)",
      "not certain")))
    val eight = compared("small-lru", "large", 9, 9, 9)
    assert(Bars.judge(result("fit-large-only", Seq(eight))).map(_.bar) == Seq("at least 8 x"))
  }

  test("equal is no difference and little noise") {
    for ((low, high, said) <- Seq(
        (0.95, 1.05, "holds"),
        (0.91, 1.0, "holds"),
        (1.0, 1.0999, "holds"),
        (1.01, 1.05, "does not hold"),
        (0.95, 0.99, "does not hold"),
        (0.95, 1.11, "not certain"),
        (0.9, 1.05, "not certain"),
        (0.1, 10.0, "not certain")
      ))
      assert(verdict("fit-both", "small", "large", 1, low, high) == said, (low, high))
  }

  test("fewer rounds than ten carry no claim") {
    for {
      few <- Seq((10, 9), (9, 10))
      (scenario, slow, fast, ratio, low, high) <- Seq(
        ("fit-large-only", "small-lru", "large", 90.0, 80.0, 100.0),
        ("fit-large-only", "small-lru", "large", 2.0, 1.0, 3.0),
        ("fit-both", "small", "large", 1.0, 0.99, 1.01),
        ("fit-both", "large-pmem-model", "small", 1.0, 0.99, 1.01)
      )
    } assert(verdict(scenario, slow, fast, ratio, low, high, few) == "too few rounds")
  }

  test("one round each has no interval") {
    val once = compared("small-lru", "small", 2, Double.NaN, Double.NaN, (1, 10))
    val found = Bars.judge(result("fit-none", Seq(once))).head
    assert(found.measured == "2.00 x" && found.verdict == "too few rounds")
  }

  test("the modelled medium is a model and at most so far behind") {
    for ((low, high, said) <- Seq(
        (1.1, 1.2459, "holds"),
        (1.1, 1.25, "not certain"),
        (1.2459, 1.3, "not certain"),
        (1.25, 1.3, "does not hold")))
      assert(verdict("fit-both", "large-pmem-model", "small", 1.2, low, high) == said)
    val made = result("fit-both", Seq(compared("large-pmem-model", "small", 1.1, 1, 1.2)))
    assert(Bars.judge(made).head.what.startsWith("MODEL: "))
  }

  test("what was not measured is not judged") {
    val lru = compared("small-lru", "small", 9, 9, 9)
    // Of another scenario, of systems without a bar, of single queries, of no scenario, of a matrix.
    val matrix = result("fit-none", Seq(lru))
    for (made <- Seq(
        result("fit-large-only", Nil),
        result("fit-both", Seq(lru)),
        result("fit-none", Seq(compared("small", "large", 9, 9, 9))),
        result("fit-none", Seq(compared("small-lru", "small", 9, 9, 9, what = "q52"))),
        result("", Seq(lru)),
        matrix.copy(plan =
          matrix.plan.copy(matrix = Some(Matrix("load", Nil, Nil, Nil, Nil))))
      ))
      assert(Bars.judge(made).isEmpty)
  }

  /** Ten rounds in which two tenants need the same, but in the last one. */
  private def served(last: Double): Result = {
    val rounds = (1 to 10).map { number =>
      val second = if (number == 10) last else 1
      val runs = Seq(1.0, second).zipWithIndex.map { case (seconds, tenant) =>
        QueryRun("q52", seconds, Map.empty, 1, tenant)
      }
      Round("oap", 1, number, runs, 1)
    }
    val made = result("", Nil, Seq(MadePlans.system("oap", "oap")))
    made.copy(plan = made.plan.copy(tenants = 2), rounds = rounds)
  }

  test("the worst round of a system decides") {
    // Of 1 and 3 the mean is 2.
    for ((last, said, verdict) <- Seq(
        (1.0, "1.00", "holds"),
        (3.0, "1.50", "holds"),
        (4.0, "1.60", "does not hold")))
      assert(Bars.judge(served(last)) == Seq(Judged(
        "run",
        "2 tenants, oap: slowest over mean",
        "at most 1.5 in any round",
        said,
        verdict)))
  }

  test("warm-up and rounds that failed decide nothing") {
    val made = served(4)
    val worst = made.rounds.last
    val failed = worst.copy(queries = worst.queries.map(_.copy(error = "lost")))
    for (nothing <- Seq(worst.copy(number = 0), failed)) {
      val rounds = made.rounds.dropRight(1) ++ Seq(made.rounds.head, nothing)
      val found = Bars.judge(made.copy(rounds = rounds)).head
      assert(found.measured == "1.00" && found.verdict == "holds")
    }
  }

  test("fewer rounds than ten hold nothing and one can fail") {
    for ((last, verdict) <- Seq((1.0, "too few rounds"), (4.0, "does not hold"))) {
      val made = served(last)
      assert(Bars.judge(made.copy(rounds = made.rounds.tail)).head.verdict == verdict)
    }
  }

  test("one tenant or queries dealt out say nothing of fairness") {
    val made = served(4)
    assert(Bars.judge(made.copy(plan = made.plan.copy(tenants = 1))).isEmpty)
    assert(Bars.judge(made.copy(plan = made.plan.copy(deal = true))).isEmpty)
    assert(Bars.judge(made.copy(rounds = Nil)).isEmpty)
  }

  private def atOnce(low: Double, high: Double): Result = {
    val systems = Seq("row" -> 1, "nine" -> 9).map { case (name, tenants) =>
      MadePlans.system(name, "oap").copy(tenants = tenants)
    }
    val made = result("", Seq(compared("row", "nine", 1, low, high)), systems)
    made.copy(plan = made.plan.copy(deal = true))
  }

  test("as many queries at once as in a row, in the same time") {
    for ((low, high, verdict) <- Seq(
        (0.9, 1.2, "holds"),
        (0.89, 1.2, "not certain"),
        (0.5, 0.89, "does not hold")))
      assert(Bars.judge(atOnce(low, high)) == Seq(Judged(
        "run",
        "queries of 9 tenants at once, nine, over the same in a row",
        "at least 0.9 x",
        f"1.00 x ($low%.2f to $high%.2f)",
        verdict)))
  }

  test("only systems that differ in nothing but their tenants are compared so") {
    val made = atOnce(1, 1)
    def judged(change: MeasuredSystem => MeasuredSystem) =
      Bars.judge(made.copy(systems = Seq(made.systems.head, change(made.systems.last))))
    assert(judged(identity).size == 1)
    assert(judged(_.copy(kind = "spark")).isEmpty && judged(_.copy(tenants = 1)).isEmpty)
    assert(Bars.judge(made.copy(plan = made.plan.copy(deal = false))).isEmpty)
  }
}
