package io.oap.tpcds.scale

import java.io.PrintStream
import java.nio.file.{Files, Path}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.{DataFolder, Options, Progress}

/** Whole runs on tiny data: applications one after the other, what is recorded, going on later. */
class ExperimentSuite extends AnyFunSuite with BeforeAndAfterAll {
  private var root: Path = _
  private val silent = new Progress(new PrintStream(java.io.OutputStream.nullOutputStream()), false)
  private val properties = Map(
    "spark.master" -> "local[2]",
    "spark.ui.enabled" -> "false",
    "spark.sql.warehouse.dir" -> "target/spark-warehouse")

  override def beforeAll(): Unit = {
    super.beforeAll()
    root = Files.createTempDirectory("scale")
    properties.foreach { case (key, value) => System.setProperty(key, value) }
  }

  override def afterAll(): Unit =
    try {
      properties.keys.foreach(System.clearProperty(_))
      DataFolder.delete(root)
    } finally super.afterAll()

  private def system(name: String, kind: String, settings: (String, String)*) = {
    val pool = if (kind == "oap") Map("spark.oap.pool.size" -> "64m") else Map.empty[String, String]
    MeasuredSystem(name, kind, pool ++ settings, 1, "")
  }

  private def plan(systems: MeasuredSystem*): Plan = Plan(
    scenario = "",
    data = root.toString,
    scale = 0.01,
    queries = Seq("q52", "q42"),
    partitioned = false,
    storage = "local",
    systems = systems,
    state = "warm",
    warmUps = 1,
    rounds = 2,
    repeats = 1,
    tenants = 1,
    deal = false,
    seed = 3
  )

  private def run(plan: Plan, file: String, trace: String = ""): Result = {
    val request = RunRequest(plan, root.resolve(file).toString, 0, trace, "dev/tpcds run", "r")
    new Experiment(request, silent).run()
  }

  test("three kinds of systems, warm: the same rows, and each reads from where it should") {
    val result =
      run(plan(system("s", "spark"), system("o", "oap"), system("c", "spark-cache")), "3")
    def counting(name: String) = result.rounds.filter(r => r.system == name && r.counts)
    assert(Seq("s", "o", "c").map(counting(_).size) == Seq(2, 2, 2))
    assert(result.rounds.count(_.number == 0) == 3)
    assert(ResultTable.wrong(result).isEmpty)
    assert(counting("s").forall(r => r.fileBytes > 0 && r.fromPool == 0))
    assert(counting("o").forall(r => r.fromPool > 0 && r.queries.map(_.chunksMissed).sum == 0))
    // A cached table is read from Spark's memory.
    assert(counting("c").forall(_.fileBytes == 0))
    assert(result.comparisons.map(_.what).toSet == Set("round", "q52", "q42"))
    assert(result.comparisons.size == 9 && result.times.size == 9)
    assert(result.times.forall(_.runs == 2))
    assert(result.comparisons.forall(c => c.times.baseRuns == 2 && c.times.otherRuns == 2))
    assert(ResultTable.of(result).split("\n").length == 1 + 3 + 3)
    for (r <- result.rounds) {
      assert(r.seconds >= r.queries.map(_.ended).max && r.samples.last.fromPool >= r.fromPool)
    }
  }

  test("the second system has its own pool, also in the same process") {
    val small =
      system("small", "oap", "spark.oap.pool.size" -> "1m", "spark.oap.pool.policy" -> "lru")
    val queries = Seq("q52", "q42", "q68", "q19")
    val result = run(plan(system("large", "oap"), small).copy(queries = queries), "pools")
    def last(name: String) = result.rounds.filter(_.system == name).last
    assert(last("large").evictedBytes == 0 && last("large").heldBytes > (1 << 20))
    assert(last("small").evictedBytes > 0 && last("small").heldBytes <= (1 << 20))
  }

  test("cold rounds begin with an empty pool, and say what became of the page cache") {
    val result = run(plan(system("o", "oap")).copy(state = "cold"), "cold")
    for (round <- result.rounds.filter(_.counts)) {
      assert(round.queries.map(_.chunksMissed).sum > 0)
      assert(round.pageCache == "dropped")
    }
    assert(result.rounds.head.number == 0 && result.rounds.head.pageCache == "left alone")
  }

  test("a result is continued where it was left, and belongs to one plan") {
    val whole = plan(system("s", "spark"))
    val file = root.resolve("resumed")
    val first = run(whole, "resumed")
    val cut = first.copy(rounds = first.rounds.dropRight(1))
    new ResultFile(file).write(cut)
    assert(new ResultFile(file).read(whole).contains(cut))
    val second = run(whole, "resumed")
    assert(second.rounds.take(cut.rounds.size) == cut.rounds)
    assert(second.rounds.drop(cut.rounds.size).map(_.number) == Seq(0, 2))
    val again = run(whole, "resumed")
    assert(again.rounds == second.rounds)
    intercept[Options.Rejected](run(whole.copy(seed = 4), "resumed"))
    Files.writeString(file, "{}")
    intercept[Options.Rejected](run(whole, "resumed"))
  }

  test("tenants at once: each runs all, in the same rows") {
    val result = run(plan(system("o", "oap")).copy(tenants = 3, rounds = 1), "tenants")
    val round = result.rounds.last
    assert(round.queries.groupBy(_.tenant).view.mapValues(_.size).toMap == Map(
      0 -> 2,
      1 -> 2,
      2 -> 2))
    assert(ResultTable.wrong(result).isEmpty)
    assert(round.slowestOverMean >= 1)
    // They ran at the same time.
    assert(round.queries.map(_.begun).min < round.queries.map(_.ended).min)
    assert(round.queries.map(_.seconds).sum > round.seconds)
  }

  test("an injected slowdown is found, and other rows are told") {
    val slow = system("slow", "spark").copy(slowdown = 4)
    val result = run(plan(system("s", "spark"), slow).copy(rounds = 6), "slow")
    val round = result.comparisons.find(_.what == "round").get.times
    assert(round.isSignificant && round.ratio < 0.5, round.verdict)
    assert(round.low < 0.25 * 1.4 && round.high > 0.25 * 0.7, round.verdict)
    val query = result.rounds.head.queries.head.copy(difference = "1 rows instead of 2")
    val wrong = result.copy(rounds = Seq(result.rounds.head.copy(queries = Seq(query))))
    assert(ResultTable.wrong(wrong).size == 1)
  }

  test("a query that fails is recorded, and its round does not count") {
    // No task may return anything.
    val broken = system("b", "spark", "spark.driver.maxResultSize" -> "1")
    val result = run(plan(broken), "failed")
    assert(result.rounds.forall(!_.counts))
    assert(ResultTable.wrong(result).exists(_.contains("FAILED")))
  }

  test("what was asked for is recorded") {
    val trace = root.resolve("traces")
    run(plan(system("o", "oap")), "traced", trace.toString)
    val recording = trace.resolve("o-1.jfr")
    val asks = jdk.jfr.consumer.RecordingFile.readAllEvents(recording)
    assert(asks.stream().filter(_.getEventType.getName == "io.oap.ChunkAccess").count() > 10)
  }
}
