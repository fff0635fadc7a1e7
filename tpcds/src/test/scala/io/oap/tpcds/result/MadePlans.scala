package io.oap.tpcds.result

/** Plans and systems of tests, which change of them what they are about. */
private[tpcds] object MadePlans {

  def system(
      name: String,
      kind: String,
      settings: Map[String, String] = Map.empty): MeasuredSystem =
    MeasuredSystem(name, kind, settings, slowdown = 1, medium = "", tenants = 0, cell = None)

  /** Warm rounds of two queries, by one tenant. */
  def plan(systems: Seq[MeasuredSystem]): Plan = Plan(
    scenario = "",
    data = "",
    scale = 1,
    queries = Seq("q52", "q42"),
    partitioned = false,
    form = "parquet",
    storage = "local",
    systems = systems,
    state = "warm",
    warmUps = 1,
    rounds = 2,
    repeats = 1,
    tenants = 1,
    deal = false,
    sweep = None,
    needed = 0,
    representation = "encoded",
    matrix = None,
    seed = 3
  )
}
