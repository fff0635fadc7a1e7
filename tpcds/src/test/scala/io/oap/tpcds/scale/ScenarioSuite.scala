package io.oap.tpcds.scale

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.result.MadePlans

/** Pool sizes of the scenarios, and who runs what in a round. */
class ScenarioSuite extends AnyFunSuite {
  private val needed = 1L << 30

  private def pools(name: String): Map[String, Long] = Scenario
    .named(name)
    .systems(needed, 1, "encoded")
    .map(system => system.name -> system.settings("spark.oap.pool.size").toLong)
    .toMap

  test("fit-both: both pools hold all") {
    val all = pools("fit-both")
    assert(all("small") >= needed / 0.98 && all("small") < needed / 0.979)
    assert(all("small-lru") == all("small"))
    assert(all("large") >= needed * 1000 / 613 && all("large") < needed * 1001 / 613)
    assert(all("large-pmem-model") == all("large"))
    val models = Scenario.named("fit-both").systems(needed, 1, "encoded").filter(_.medium.nonEmpty)
    assert(models.map(_.name) == Seq("large-pmem-model"))
  }

  test("fit-large-only: the large pool holds all, the small one 66 %") {
    val all = pools("fit-large-only")
    assert(all("large") >= needed)
    assert(math.abs(all("small").toDouble / needed - 610 / 920.0) < 0.001)
    assert(all("small") == all("small-lru"))
  }

  test("fit-none: neither pool holds all, and the published policy runs in both sizes") {
    val all = pools("fit-none")
    assert(math.abs(all("large").toDouble / needed - 1000 / 1226.7) < 0.001)
    assert(math.abs(all("small").toDouble / needed - 610 / 1226.7) < 0.001)
    assert(all("large") == all("large-lru") && all("small") == all("small-lru"))
    for (system <- Scenario.named("fit-none").systems(needed, 1, "encoded")) {
      val policy = system.settings.get("spark.oap.pool.policy")
      assert(policy == (if (system.name.endsWith("lru")) Some("lru") else None))
    }
  }

  test("executors divide a pool among them") {
    val four = Scenario.named("fit-both").systems(needed, 4, "encoded")
      .map(system => system.name -> system.settings("spark.oap.pool.size").toLong).toMap
    for ((name, whole) <- pools("fit-both")) {
      assert(four(name) * 4 >= whole * 0.999 && four(name) * 4 <= whole * 1.02, name)
    }
  }

  test("all systems of a scenario keep chunks in the form that is asked for") {
    for (scenario <- Scenario.All; form <- Seq("encoded", "vector"))
      assert(scenario.systems(needed, 1, form).forall(
        _.settings("spark.oap.cache.representation") == form))
  }

  private val plan = MadePlans.plan(Seq("a", "b", "c").map(MadePlans.system(_, "spark")))
    .copy(queries = (1 to 9).map(n => s"q$n"), rounds = 5, repeats = 2, tenants = 4, seed = 7)

  test("each tenant runs all queries, in an order of its own that the seed gives") {
    val lists = Tenants.queries(plan, 1, 1)
    assert(lists.size == 4 && lists.forall(_.sorted == plan.queries.sorted))
    assert(lists.distinct.size > 1)
    assert(Tenants.queries(plan, 1, 1) == lists)
    assert(Tenants.queries(plan, 1, 2) != lists)
    assert(Tenants.queries(plan.copy(seed = 8), 1, 1) != lists)
  }

  test("dealt out, each query is run by one tenant") {
    val lists = Tenants.queries(plan.copy(deal = true), 1, 1)
    assert(lists.map(_.size).sorted == Seq(2, 2, 2, 3))
    assert(lists.flatten.sorted == plan.queries.sorted)
    assert(Tenants.queries(plan.copy(deal = true, tenants = 12), 1, 1).count(_.isEmpty) == 3)
  }

  test("the systems of a repeat run in an order that the seed gives") {
    val orders = (1 to 20).map(Experiment.order(plan, plan.systems, _).map(_.name))
    assert(orders.forall(_.sorted == Seq("a", "b", "c")))
    assert(orders.distinct.size > 2)
    assert(orders == (1 to 20).map(Experiment.order(plan, plan.systems, _).map(_.name)))
  }

  test("FAIR pools: who has had fewer queries has the name that comes first") {
    assert(Tenants.pool(8, 0) < Tenants.pool(0, 1) && Tenants.pool(8, 9) < Tenants.pool(0, 10))
    val names = for (tenant <- 0 until 120; before <- 0 until 99) yield Tenants.pool(tenant, before)
    assert(names.distinct.size == names.size)
  }
}
