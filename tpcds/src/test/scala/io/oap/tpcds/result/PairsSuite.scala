package io.oap.tpcds.result

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.{Circumstances, Options, Queries}

/** Ratios of systems that took turns, and the bars that they have to reach. */
class PairsSuite extends AnyFunSuite {
  private val nine = Options.NINE_QUERIES.split(",").toSeq
  private val spark = MadePlans.system("spark", "spark")
  private val same = MadePlans.system("same", "spark", Map("spark.sql.x" -> "1"))
  private val built =
    MadePlans.system("built", "oap", Map("spark.oap.buildsides.enabled" -> "false"))
  private val oap = MadePlans.system("oap", "oap")

  /** Rounds from -3 to 6 of systems of which each takes so many seconds for any query. */
  private def result(
      queries: Seq[String],
      seconds: (MeasuredSystem, (String, Int) => Double)*): Result = {
    val systems = seconds.map(_._1)
    val rounds = for (number <- -3 to 6; (system, of) <- seconds)
      yield Round.inARow(
        system.name,
        number,
        queries.map(query => QueryRun(query, of(query, number), Map.empty, 1)))
    val plan = MadePlans.plan(systems).copy(
      scenario = Pairs.Scenario,
      queries = queries,
      state = "in turn",
      scale = 10,
      warmUps = 4,
      rounds = 6)
    val facts = Circumstances("", Map.empty, Map.empty, Map.empty, Map.empty)
    Result(plan, Seq("dev/tpcds pairs"), facts, 0, systems, rounds, Nil, Nil)
  }

  private def always(seconds: Double)(query: String, number: Int): Double = seconds

  private def changed(result: Result)(change: Plan => Plan): Result =
    result.copy(plan = change(result.plan))

  private def verdicts(result: Result): Seq[(String, String)] =
    result.bars.map(bar => bar.what -> bar.verdict)

  test(
    "ratios are of medians of the rounds that count, pairs of one round, first runs of their own") {
    def slowFirst(query: String, number: Int): Double = number match {
      case -3 => 9
      case 1 => 30
      case n if n > 0 => 4 + n
      case _ => 100
    }
    val pairs = new Pairs(result(Seq("q52"), spark -> slowFirst _, oap -> always(2.0)))
    // 30, 6, 7, 8, 9 and 10: the middle is 8.5.
    assert(pairs.median("q52", "spark").contains(8.5) && pairs.warm("q52", "oap").contains(4.25))
    assert(pairs.ofRounds("q52", "oap") == Seq(15, 3, 3.5, 4, 4.5, 5))
    assert(pairs.first("q52", "oap").contains(4.5))
  }

  test("a query that failed anywhere has no ratio") {
    val made = result(Seq("q52", "q42"), spark -> always(8), oap -> always(2))
    val failing = made.rounds.map { round =>
      if (round.number != 2 || round.system != "oap") round
      else round.copy(queries = round.queries.map(run =>
        if (run.query == "q42") run.copy(error = "no") else run))
    }
    val pairs = new Pairs(made.copy(rounds = failing))
    assert(pairs.warm("q42", "oap").isEmpty && pairs.warm("q52", "oap").contains(4.0))
    assert(pairs.mean(pairs.warm(_, "oap")).exists(mean => math.abs(mean - 4) < 1e-9))
  }

  test(
    "the nine queries have bars at scale 10, plain and partitioned, and beside the same settings") {
    def oneIsSlow(query: String, number: Int): Double = if (query == "q43") 3.7 else 2.0
    val made = result(
      nine,
      spark -> always(7.4),
      same -> always(5),
      built -> always(7),
      oap -> oneIsSlow _)
    assert(verdicts(made) == Seq(
      "oap, geometric mean" -> "does not hold",
      "oap, least of all queries" -> "does not hold",
      "oap beside same" -> "does not hold",
      "oap, first runs" -> "holds"))
    val least = made.bars(1)
    assert(least.measured == "2.00 x (q43)" && least.bar == "at least 2.2 x")
    assert(verdicts(changed(made)(_.copy(partitioned = true))).map(_._2).distinct == Seq("holds"))
    assert(verdicts(changed(made)(_.copy(rounds = 5))).map(_._2) ==
      Seq.fill(3)("too few rounds") :+ "holds")
    assert(verdicts(changed(made)(_.copy(warmUps = 3))).head._2 == "too few rounds")
    // At another scale, on another storage and in another form only first runs have a bar.
    for (change <-
        Seq[Plan => Plan](_.copy(scale = 1), _.copy(storage = "s3"), _.copy(form = "orc")))
      assert(verdicts(changed(made)(change)) == Seq("oap, first runs" -> "holds"))
  }

  test("scale 30 has a bar when it is partitioned") {
    val made = changed(result(nine, spark -> always(5.1), oap -> always(2)))(_.copy(scale = 30))
    assert(verdicts(made).map(_._1) == Seq("oap, first runs"))
    assert(verdicts(changed(made)(_.copy(partitioned = true))).head ==
      ("oap, geometric mean" -> "holds"))
  }

  test("of all queries none may be much slower, and first runs not slower in the mean") {
    def one(slow: Double)(query: String, number: Int): Double =
      if (number == -3) 1.1 else if (query == "q9") slow else 0.5
    val bad = result(Queries.All, spark -> always(1), oap -> one(1.2))
    assert(verdicts(bad) == Seq(
      "oap, least of all queries" -> "does not hold",
      "oap, first runs" -> "does not hold"))
    assert(bad.bars.head.measured == "0.83 x (q9)")
    val good = result(Queries.All, spark -> always(1), oap -> one(1.1))
    assert(verdicts(good).head._2 == "holds")
    assert(verdicts(result(Queries.All.tail, spark -> always(1), oap -> one(1.2))).size == 1)
  }

  test("the page has a line for each query, the means and the bars") {
    val text =
      new PairsTable(result(
        nine,
        spark -> always(8),
        built -> always(4),
        oap -> always(2))).markdown
    assert(text.contains(
      "| query | spark, s | spark / built | spark / oap | first, built | first, oap |"))
    assert(
      text.contains("| q43 | 8.000 | 2.00 (2.00 to 2.00) | 4.00 (4.00 to 4.00) | 2.00 | 4.00 |"))
    assert(text.contains("| geometric mean |  | 2.00 | 4.00 | 2.00 | 4.00 |"))
    assert(text.contains("| oap, geometric mean | at least 3.5 x | 4.00 x | holds |"))
    assert(text.contains("scale 10, plain") && text.contains("    dev/tpcds pairs"))
    assert(text.contains("built has spark.oap.buildsides.enabled=false."))
  }

  test("plans of the last run that have other steps are listed, as far as they do") {
    val made = result(Seq("q52", "q42"), spark -> always(8), oap -> always(2))
    def steps(system: String, number: Int, query: String): Map[String, Long] =
      if (system == "spark" || query == "q42") Map("scans" -> 2L, "shuffles" -> 3L)
      else if (number < 6) Map("scans" -> 9L)
      else Map("scans" -> 2L, "shuffles" -> 4L, "sort-merge joins" -> 1L)
    val ran = made.copy(rounds = made.rounds.map(round =>
      round.copy(queries = round.queries.map(run =>
        run.copy(steps = steps(round.system, round.number, run.query))))))
    val text = new PairsTable(ran).markdown
    assert(text.contains("| q52 | oap | shuffles 3 -> 4, sort-merge joins 0 -> 1 |"))
    assert(!text.contains("| q42 | oap |") && !new PairsTable(made).markdown.contains("other plan"))
  }
}
