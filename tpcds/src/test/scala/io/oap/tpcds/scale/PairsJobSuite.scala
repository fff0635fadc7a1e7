package io.oap.tpcds.scale

import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.file.Files

import org.apache.spark.sql.Row

import io.oap.tpcds.{Json, MadeData, Options, Progress, SparkContextSuite}
import io.oap.tpcds.result.{MadePlans, MeasuredSystem, Pairs, Plan, Result}

/** A whole run of systems in turn on tiny data. */
class PairsJobSuite extends SparkContextSuite {
  private val built =
    MadePlans.system("built", "oap", Map("spark.oap.buildsides.enabled" -> "false"))
  private val systems3 =
    Seq(MadePlans.system("spark", "spark"), built, MadePlans.system("oap", "oap"))

  private def plan(systems: Seq[MeasuredSystem], queries: String*): Plan =
    MadePlans.plan(systems).copy(
      scenario = Pairs.Scenario,
      data = MadeData.root.toString,
      scale = Scale,
      state = "in turn",
      queries = queries,
      warmUps = 3,
      rounds = 2)

  private val said = new ByteArrayOutputStream()

  private def run(plan: Plan): (Int, Result, String) = {
    val out = root.resolve("pairs.json")
    val progress = new Progress(new PrintStream(said), isTerminal = false)
    val request = RunRequest(plan, out.toString, 0, "", "dev/tpcds pairs", "r")
    val status = PairsJob.run(request, progress)
    val page = Files.readString(root.resolve("pairs.md"))
    (status, Json.read(Files.readString(out), classOf[Result]), page)
  }

  test("all systems run all queries, each in its own way, and the page says what came out") {
    val (status, result, page) = run(plan(systems3, "q52", "q42"))
    assert(status == 0)
    assert(result.rounds.map(r => (r.number, r.system)) ==
      (for (number <- -2 to 2; system <- systems3) yield (number, system.name)))
    assert(result.rounds.forall(_.queries.map(_.query) == Seq("q52", "q42")))
    def last(system: String) = result.rounds.filter(_.system == system).last.queries
    assert(last("spark").forall(run => run.scan.isEmpty && run.fileBytes.exists(_ > 0)))
    for (system <- Seq("built", "oap")) {
      assert(last(system).forall(run => run.fromPool > 0 && run.metric("chunksMissed") == 0))
    }
    assert(last("spark").forall(_.steps("scans") == 3))
    // What is kept of the dimensions is not read again, and only where it is to be kept.
    assert(last("oap").map(_.fromPool).sum < last("built").map(_.fromPool).sum)
    val seconds = "[0-9.]+ s first, [0-9.]+ s"
    assert(said.toString.linesIterator.exists(
      _.matches(s"q42: spark $seconds; built $seconds; oap $seconds")))
    assert(page.contains("| q52 | ") && page.contains("| oap, first runs | at least 1 x |"))
  }

  test("rows that differ are reported, those of LIMIT among equal ones are not") {
    val made = new PairedSystems(plan(systems3, "q52"), silent)
    val rows = made.run("spark", "q52")._1
    assert(made.areAsRight("oap", "q52", rows.drop(1)))
    assert(!made.areAsRight("oap", "q52", Seq(Row(2000, 1, "no such brand", 3))))
  }

  test("a query that fails is reported, and the others go on") {
    val failing = new PairedSystems(plan(systems3, "q52"), silent)
    val (rows, ran) = failing.run("oap", "q99999")
    assert(rows.isEmpty && ran.error.startsWith("FileNotFoundException"))
  }

  test("a setting that is none of a session is refused") {
    for (key <- Seq("spark.sql.codegen.cache.maxEntries", "spark.executor.memory")) {
      val system = MadePlans.system("same", "spark", Map(key -> "1g"))
      val e = intercept[Options.Rejected](run(plan(systems3 :+ system, "q52")))
      assert(e.getMessage.contains(key))
    }
  }
}
