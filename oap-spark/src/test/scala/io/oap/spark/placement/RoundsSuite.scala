package io.oap.spark.placement

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** What rounds of queries come to on three simulated executors, by the bars of placement. */
final class RoundsSuite extends AnyFunSuite {
  private val columns = 23

  private final class Setting(seed: Long, files: Int, rowGroups: Int, share: Double) {
    private val random = new Random(seed)
    val table = SimulatedTable(files, rowGroups, columns, random)
    val queries = SimulatedQuery.nine(table, columns, random)
    val neededBytes = SimulatedQuery.neededBytes(table, queries)

    /** Three executors, the pool of each a little above a third of the needed bytes. */
    def cluster(
        reportEvery: Int = 1,
        rules: PlacementRules = PlacementRules()): SimulatedCluster = {
      val cluster =
        new SimulatedCluster(table, (neededBytes / 3 * share).toLong, rules, reportEvery)
      Seq("1", "2", "3").foreach(cluster.join)
      cluster
    }

    /** Bytes the queries read of the chunks chosen, as often as they read them. */
    def readBytes(isChosen: SimulatedChunk => Boolean): Long = queries
      .flatMap(SimulatedQuery.chunks(table, _))
      .filter(isChosen)
      .map(table.bytes(_).toLong)
      .sum
  }

  private def settings(share: Double): Seq[(String, Setting)] = {
    val seed: Long = java.lang.Long.getLong("oap.seed", 1)
    for (files <- Seq(40, 160); rowGroups <- Seq(1, 3))
      yield s"seed $seed, $files files, $rowGroups row groups, pools of $share thirds" ->
        new Setting(seed, files, rowGroups, share)
  }

  for (reportEvery <- Seq(1, 3))
    test(s"from the second round on queries read their own pools, reports every $reportEvery") {
      for ((clue, setting) <- settings(1.15)) withClue(clue) {
        val cluster = setting.cluster(reportEvery)
        val first = cluster.run(setting.queries)
        assert(first.missedBytes >= setting.neededBytes)
        for (_ <- 2 to 4) {
          assert(cluster.run(setting.queries).hitRatio >= 0.98)
          assert(cluster.heldTwice < 0.03)
          assert(cluster.imbalance <= 1.2)
        }
      }
    }

  test("pools that are just large enough come to hold everything once") {
    for ((clue, setting) <- settings(1.05)) withClue(clue) {
      val cluster = setting.cluster()
      (1 to 2).foreach(_ => cluster.run(setting.queries))
      for (_ <- 3 to 5) {
        assert(cluster.run(setting.queries).hitRatio >= 0.98)
        assert(cluster.heldTwice < 0.01)
      }
    }
  }

  test("without placement about a third comes from the own pool") {
    val off = PlacementRules(usesHash = false, usesResidency = false)
    for ((clue, setting) <- settings(1.15)) withClue(clue) {
      val cluster = setting.cluster(rules = off)
      val rounds = Seq.fill(3)(cluster.run(setting.queries))
      assert(rounds.last.hitRatio < 0.6)
    }
  }

  test("after a loss only what was held there is read anew, and nothing useful is evicted") {
    for ((clue, setting) <- settings(1.15)) withClue(clue) {
      val cluster = setting.cluster()
      (1 to 3).foreach(_ => cluster.run(setting.queries))
      val lost = setting.readBytes(cluster.pools("2").held.toSet)
      cluster.lose("2")
      val others = Seq("1", "3").flatMap(cluster.pools(_).held).toSet
      val round = cluster.run(setting.queries)
      assert(round.missedBytes <= lost * 1.05)
      val evicted = others.filterNot(chunk => cluster.pools.values.exists(_.holds(chunk)))
      assert(setting.readBytes(evicted) <= setting.readBytes(_ => true) * 0.02)
    }
  }

  for (roundsBetween <- Seq(0, 1))
    test(s"after a loss and $roundsBetween rounds, an executor that joins takes over") {
      for ((clue, setting) <- settings(1.15)) withClue(clue) {
        val cluster = setting.cluster()
        (1 to 3).foreach(_ => cluster.run(setting.queries))
        cluster.lose("2")
        (1 to roundsBetween).foreach(_ => cluster.run(setting.queries))
        cluster.join("4")
        (1 to 2).foreach(_ => cluster.run(setting.queries))
        assert(cluster.run(setting.queries).hitRatio >= 0.98)
        assert(cluster.pools("4").usedBytes >= setting.neededBytes / 3 / 2)
      }
    }
}
