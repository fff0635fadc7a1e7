package io.oap.tpcds.result

import java.math.BigDecimal

import scala.collection.mutable.ArrayBuffer

import io.oap.tpcds.{Options, Queries}

/** What a measurement has to reach, and whether it did. Each is printed as it is judged. */
final class Bars(print: String => Unit) {
  private val missed = ArrayBuffer.empty[String]

  /** A number with at most this many digits behind the point. */
  def atMost(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"at most $bar%.4g", value <= bar)

  def below(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"below $bar%.4g", value < bar)

  def atLeast(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"at least $bar%.4g", value >= bar)

  /** Nothing of a kind may have happened; the first ones are named. */
  def none(what: String, found: Seq[String]): Unit =
    judge(what, if (found.isEmpty) "none" else found.take(3).mkString("; "), "none", found.isEmpty)

  private def judge(what: String, value: String, bar: String, isReached: Boolean): Unit = {
    if (!isReached) missed += what
    print(s"${if (isReached) "PASS" else "FAIL"}  $what: $value (bar: $bar)")
  }

  def areReached: Boolean = missed.isEmpty
}

/**
 * A bar beside what was measured, in words.
 *
 * @param verdict `holds`, `does not hold`, `not certain` or `too few rounds`
 */
final case class Judged(
    scenario: String,
    what: String,
    bar: String,
    measured: String,
    verdict: String)

/** All bars of dev/tpcds and dev/cluster, and which of them a result reaches. */
object Bars {

  /** Fewer rounds of a system carry no claim. */
  val RoundsForAClaim = 10

  /** Percent of the bytes that come from the own pool where pools hold all between them. */
  val FromOwnPool = 98.0

  /** Percent of cached bytes that are second copies, below. */
  val HeldTwice = 3.0
  val MaxOverMeanOfHeld = 1.2

  /** What is read again after a loss, in parts of what was lost. */
  val ReadAgain = 1.05

  /** What is read again when it was known 5 s before. */
  val ReadAgainAfterNotice = 0.3

  /** What is read from files where pools outlive executors, over that where they do not. */
  val FromFilesWhenElastic = 0.5

  /** Time with placement over time without. */
  val SlowerWithPlacement = 1.05

  /** Fewer queries under failures say nothing, least of all of memory. */
  val QueriesUnderFailures = 12.0
  val GrowthOfHeap = 1.1

  private val SlowestTenant = 1.5

  /** Queries at once over the same ones in a row, by throughput. */
  private val AtOnce = 0.9
  private val ModelApart = 1.246

  /** Equal is only what is known well enough: else the noisier the rounds, the more equal all would be. */
  private val EqualWithin = 1.1

  private final case class Factor(
      scenario: String,
      what: String,
      slow: String,
      fast: String,
      least: Double)

  private val Factors = Seq(
    Factor("fit-large-only", "large pool over small pool with LRU", "small-lru", "large", 8),
    Factor("fit-large-only", "our policy over LRU in the small pool", "small-lru", "small", 1.5),
    Factor("fit-none", "our policy over LRU in the small pool", "small-lru", "small", 1.66),
    Factor("fit-none", "our policy over LRU in the large pool", "large-lru", "large", 1.66)
  )

  /**
   * What OAP with its defaults has to be times as fast in the nine queries, systems in turn.
   *
   * @param mean geometric, beside Spark alone with its own defaults
   * @param least of any query
   * @param sameSettings geometric mean beside Spark alone that has settings, too
   */
  private final case class InTurnBar(
      scale: Double,
      partitioned: Boolean,
      mean: Double,
      least: Option[Double],
      sameSettings: Option[Double])

  private val InTurnBars = Seq(
    InTurnBar(10, partitioned = false, 3.5, Some(2.2), Some(3.0)),
    InTurnBar(10, partitioned = true, 2.0, Some(1.2), Some(1.7)),
    InTurnBar(30, partitioned = true, 2.5, None, None)
  )
  private val RoundsInTurn = 6
  private val WarmUpsInTurn = 4
  private val FirstRuns = 1.0
  private val LeastOfAll = 0.9

  private val TooFew = "too few rounds"

  /**
   * How many times as fast a system is as another.
   *
   * @param runs rounds of the system that has fewer
   */
  private final case class Ratio(middle: Double, low: Double, high: Double, runs: Int) {
    override def toString: String =
      f"$middle%.2f x" + (if (low.isNaN) "" else f" ($low%.2f to $high%.2f)")

    def verdict(holds: Boolean, fails: Boolean): String =
      if (runs < RoundsForAClaim) TooFew
      else if (holds) "holds"
      else if (fails) "does not hold"
      else "not certain"

    def atLeast(bar: Double): String = verdict(holds = low >= bar, fails = high < bar)
  }

  /** A row for each bar that a result says something about; a matrix says nothing of any. */
  def judge(result: Result): Seq[Judged] =
    if (result.plan.matrix.nonEmpty) Nil
    else if (result.plan.scenario == Pairs.Scenario) inTurn(result)
    else factors(result) ++ fitBoth(result) ++ atOnce(result) ++ slowestTenants(result)

  private def ratio(result: Result, slow: String, fast: String): Option[Ratio] =
    result.comparisons.filter(_.what == "round").collectFirst {
      case Compared(_, `slow`, `fast`, t) =>
        Ratio(t.ratio, t.low, t.high, math.min(t.baseRuns, t.otherRuns))
      case Compared(_, `fast`, `slow`, t) =>
        Ratio(1 / t.ratio, 1 / t.high, 1 / t.low, math.min(t.baseRuns, t.otherRuns))
    }

  private def factors(result: Result): Seq[Judged] = for {
    bar <- Factors if bar.scenario == result.plan.scenario
    found <- ratio(result, bar.slow, bar.fast)
  } yield Judged(
    bar.scenario,
    bar.what,
    s"at least ${text(bar.least)} x",
    found.toString,
    found.atLeast(bar.least))

  private def fitBoth(result: Result): Seq[Judged] =
    if (result.plan.scenario != "fit-both") Nil
    else ratio(result, "small", "large").map { found =>
      val contains1 = found.low <= 1 && found.high >= 1
      val isKnown = found.low >= 1 / EqualWithin && found.high <= EqualWithin
      Judged(
        "fit-both",
        "the two pools equal within noise",
        s"no significant difference, interval within ${text(EqualWithin)} x either way",
        found.toString,
        found.verdict(holds = contains1 && isKnown, fails = !contains1)
      )
    }.toSeq ++ ratio(result, "large-pmem-model", "small").map { found =>
      Judged(
        "fit-both",
        "MODEL: DRAM over persistent memory",
        s"at most ${text(ModelApart)} x",
        found.toString,
        found.verdict(holds = found.high <= ModelApart, fails = found.low > ModelApart)
      )
    }

  /** Systems that differ in nothing but that the queries of a round are dealt out to more tenants. */
  private def atOnce(result: Result): Seq[Judged] = for {
    row <- result.systems if result.plan.deal && row.tenants == 1
    many <- result.systems if many.tenants > 1
    if many == row.copy(name = many.name, tenants = many.tenants)
    found <- ratio(result, row.name, many.name)
  } yield Judged(
    scenario(result),
    s"queries of ${many.tenants} tenants at once, ${many.name}, over the same in a row",
    s"at least ${text(AtOnce)} x",
    found.toString,
    found.atLeast(AtOnce)
  )

  private def slowestTenants(result: Result): Seq[Judged] = for {
    system <- result.systems if result.plan.tenants > 1 && !result.plan.deal
    rounds = result.of(system).filter(_.counts) if rounds.nonEmpty
  } yield {
    val worst = rounds.map(_.slowestOverMean).max
    // One round is enough to see that it does not hold.
    val verdict =
      if (worst > SlowestTenant) "does not hold"
      else if (rounds.size < RoundsForAClaim) TooFew
      else "holds"
    Judged(
      scenario(result),
      s"${result.plan.tenants} tenants, ${system.name}: slowest over mean",
      s"at most ${text(SlowestTenant)} in any round",
      f"$worst%.2f",
      verdict
    )
  }

  private def inTurn(result: Result): Seq[Judged] = {
    val (plan, pairs) = (result.plan, new Pairs(result))
    val enough = plan.rounds >= RoundsInTurn && plan.warmUps >= WarmUpsInTurn
    def judged(
        what: String,
        bar: Double,
        found: Double,
        more: String,
        isEnough: Boolean): Judged = {
      val verdict = if (!isEnough) TooFew else if (found >= bar) "holds" else "does not hold"
      Judged(Pairs.Scenario, what, s"at least ${text(bar)} x", f"$found%.2f x$more", verdict)
    }
    def mean(what: String, bar: Option[Double], ratio: Pairs.Ratio, isEnough: Boolean = enough) =
      for (b <- bar; found <- pairs.mean(ratio)) yield judged(what, b, found, "", isEnough)
    def least(what: String, bar: Option[Double], ratio: Pairs.Ratio) =
      for (b <- bar; (query, found) <- pairs.least(ratio))
        yield judged(what, b, found, s" ($query)", enough)
    val areNine = plan.queries.toSet == Options.NINE_QUERIES.split(",").toSet
    val bar = InTurnBars.find { b =>
      areNine && plan.form == "parquet" && plan.storage == "local" && b.scale == plan.scale &&
      b.partitioned == plan.partitioned
    }
    val all = Option.when(Queries.All.forall(plan.queries.contains))(LeastOfAll)
    pairs.others.filter(_.isOapByDefault).flatMap { system =>
      val oap = system.name
      val beside = pairs.others.filter(_.kind == "spark").map(_.name)
      val same = beside.flatMap { other =>
        mean(s"$oap beside $other", bar.flatMap(_.sameSettings), pairs.warm(_, oap, other))
      }
      mean(s"$oap, geometric mean", bar.map(_.mean), pairs.warm(_, oap)) ++
        least(
          s"$oap, least of all queries",
          bar.flatMap(_.least).orElse(all),
          pairs.warm(_, oap)) ++
        same ++ mean(s"$oap, first runs", Some(FirstRuns), pairs.first(_, oap), isEnough = true)
    }
  }

  private def scenario(result: Result): String =
    if (result.plan.scenario.isEmpty) "run" else result.plan.scenario

  private def text(bar: Double): String =
    BigDecimal.valueOf(bar).stripTrailingZeros.toPlainString
}
