package io.oap.tpcds.scale

import java.io.PrintStream
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.sys.process.Process

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.OapConfig
import io.oap.tpcds.{MadeData, Options, Progress}
import io.oap.tpcds.data.DataFolder
import io.oap.tpcds.result._

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
    MadePlans.system(name, kind, pool ++ settings)
  }

  private def plan(systems: MeasuredSystem*): Plan =
    MadePlans.plan(systems).copy(data = MadeData.root.toString, scale = 0.01)

  /** One round without a warm-up. */
  private def once(systems: MeasuredSystem*): Plan = plan(systems: _*).copy(warmUps = 0, rounds = 1)

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
    assert(counting("o").forall(r =>
      r.fromPool > 0 && r.queries.map(_.metric("chunksMissed")).sum == 0))
    // A cached table is read from Spark's memory.
    assert(counting("c").forall(_.fileBytes == 0))
    assert(counting("s").forall(_.heldBytes == 0))
    assert((counting("o") ++ counting("c")).forall(_.heldBytes > 0))
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
    val result = run(once(system("large", "oap"), small).copy(queries = queries), "pools")
    def last(name: String) = result.rounds.filter(_.system == name).last
    assert(last("large").evictedBytes == 0 && last("large").heldBytes > (1 << 20))
    assert(last("small").evictedBytes > 0 && last("small").heldBytes <= (1 << 20))
  }

  test("cold rounds begin with an empty pool, and say what became of the page cache") {
    val result = run(plan(system("o", "oap")).copy(state = "cold"), "cold")
    for (round <- result.rounds.filter(_.counts)) {
      assert(round.queries.map(_.metric("chunksMissed")).sum > 0)
      assert(round.pageCache == "dropped")
    }
    assert(result.rounds.head.number == 0 && result.rounds.head.pageCache == "left alone")
  }

  test("with a limited device every round begins with the page cache emptied") {
    val result = run(plan(system("s", "spark")).copy(storage = "device:1000000"), "device")
    assert(result.rounds.map(_.number) == Seq(0, 1, 2))
    assert(result.rounds.forall(r => r.pageCache == "dropped" && r.fileBytes > 0))
  }

  test("a result is continued where it was left, and belongs to one plan") {
    val whole = plan(system("s", "spark"))
    val file = root.resolve("resumed")
    val first = run(whole, "resumed")
    val cut = first.copy(rounds = first.rounds.dropRight(1))
    new ResultFile(file).write(cut)
    assert(new ResultFile(file).read(whole, "r").contains(cut))
    val other = intercept[Options.Rejected](new ResultFile(file).read(whole, "later"))
    assert(other.getMessage.contains("with revision r, this is later"))
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

  test("tenants of one system alone: the queries of a round are dealt out to them") {
    val systems =
      Seq(system("row", "oap").copy(tenants = 1), system("two", "oap").copy(tenants = 2))
    val result = run(plan(systems: _*).copy(deal = true, rounds = 1), "dealt")
    val tenants = result.rounds.groupMap(_.system)(_.queries.map(q => (q.query, q.tenant)).toSet)
    assert(tenants("row").forall(_.map(_._2) == Set(0)))
    assert(tenants("two").forall(_.map(_._2) == Set(0, 1)))
    assert(tenants.values.flatten.forall(_.map(_._1) == Set("q52", "q42")))
    assert(ResultTable.wrong(result).isEmpty)
  }

  test("a table swept between the queries is no part of them") {
    val swept =
      once(system("s", "spark"), system("o", "oap")).copy(sweep = Some(Sweep("store_sales", 1)))
    val result = run(swept, "swept")
    assert(ResultTable.wrong(result).isEmpty)
    for (round <- result.rounds) {
      assert(round.sweeps.size == 2 && round.queries.map(_.query).toSet == Set("q52", "q42"))
      assert(round.seconds == round.queries.map(_.seconds).sum)
      // One after the other: each scan begins when a query has ended.
      val times = (round.queries ++ round.sweeps).sortBy(_.begun)
      assert(times.map(_.query == Tenants.Sweep) == Seq(false, true, false, true))
      assert(times.zip(times.tail).forall { case (a, b) => a.ended <= b.begun })
    }
    // All columns: more than the queries read of all their tables.
    val o = result.rounds.filter(_.system == "o")
    def bytes(times: Seq[QueryRun]): Long = times.map(t => t.fromPool + t.fromFile).max
    assert(o.forall(round => bytes(round.sweeps) > bytes(round.queries)))
    assert(result.comparisons.map(_.what).toSet == Set("round", "q52", "q42"))
    val second =
      run(
        swept.copy(sweep = Some(Sweep("store_sales", 2)), systems = Seq(system("s", "spark"))),
        "2")
    for (round <- second.rounds) {
      val times = (round.queries ++ round.sweeps).sortBy(_.begun)
      assert(times.map(_.query == Tenants.Sweep) == Seq(false, false, true))
    }
    // A scan that fails makes a round that does not count.
    val failed = o.last.copy(sweeps = o.last.sweeps.map(_.copy(error = "e")))
    assert(o.last.counts && !failed.counts)
    assert(ResultTable.wrong(result.copy(rounds = Seq(failed))).size == 2)
  }

  test("a matrix: each system in each cell, compared within it, tenants pausing") {
    val matrix = Matrix("load", Seq(0.75), Seq(0.5, 1), Seq(0.5), Seq(0.5))
    val small = once(system("s", "spark"), system("o", "oap")).copy(
      matrix = Some(matrix),
      queries = Seq("q52", "q42", "q68", "q19"),
      representation = "vector")
    val result = run(small, "matrix")
    assert(ResultTable.wrong(result).isEmpty)
    assert(result.neededBytes > 0 && result.systems.size == 4)
    assert(result.systems.map(_.cell.get.tenants).distinct == Seq(2, 4))
    assert(result.rounds.count(_.counts) == 4)
    for (system <- result.systems; cell = system.cell.get; round <- result.of(system)) {
      assert(round.queries.map(_.tenant).distinct.size == cell.tenants)
      // Each tenant runs the first half of the queries.
      val ran = round.queries.groupMap(_.tenant)(_.query).values.map(_.toSet).toSet
      assert(ran == Set(Set("q52", "q42")))
      for (queries <- round.queries.groupBy(_.tenant).values) {
        val (first, second) = (queries.minBy(_.begun), queries.maxBy(_.begun))
        // Busy for half of the time is a pause as long as the query, and at least half of that.
        assert(second.begun - first.ended >= first.seconds / 2)
      }
    }
    val ofOap = result.systems.filter(_.kind == "oap").map(_.settings("spark.oap.pool.size").toLong)
    assert(ofOap.forall(bytes => bytes >= result.neededBytes / 4 * 3 && bytes < result.neededBytes))
    val rounds = result.comparisons.filter(_.what == "round")
    assert(rounds.size == 2)
    assert(rounds.forall(c => c.base == "s" + c.other.drop(1)))
    // The same command goes on.
    val cut = result.copy(rounds = result.rounds.take(3))
    new ResultFile(root.resolve("matrix")).write(cut)
    val again = run(small, "matrix")
    assert(again.rounds.take(3) == cut.rounds && again.rounds.count(_.number > 0) == 4)
  }

  test("a scenario makes its pools from the needed bytes that are said") {
    val said = 60L << 20
    val result = run(
      plan().copy(scenario = "fit-both", needed = said, rounds = 1, tenants = 2, deal = true),
      "scenario")
    assert(result.neededBytes == said)
    assert(result.systems.map(_.name) == Seq("large", "small-lru", "small", "large-pmem-model"))
    val pools = result.systems.map(_.settings("spark.oap.pool.size").toLong)
    assert(pools(0) > 1.6 * said && pools(1) >= said && pools(1) < 1.1 * said)
    assert(pools == Seq(pools(0), pools(1), pools(1), pools(0)))
    val counting = result.rounds.filter(_.counts)
    assert(counting.map(_.system).toSet == result.systems.map(_.name).toSet)
    assert(counting.forall(round => round.fromPool > 0 && round.fileBytes == 0))
    assert(ResultTable.wrong(result).isEmpty)
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
    val traced = plan(system("o", "oap")).copy(warmUps = 0)
    val whole = run(traced, "traced", trace.toString)
    val configuration = whole.circumstances.configuration
    assert(configuration("spark.oap.pool.policy") == OapConfig.POOL_POLICY.defaultText)
    val sizes = whole.systems.map(_.settings("spark.oap.pool.size"))
    assert(!sizes.contains(configuration("spark.oap.pool.size")), "that is one system's own")
    val recording = trace.resolve("o-1.jfr")
    val time = Files.getLastModifiedTime(recording)
    new ResultFile(root.resolve("traced")).write(whole.copy(rounds = whole.rounds.dropRight(1)))
    run(traced, "traced", trace.toString)
    // What a continued repeat asks for is recorded beside it.
    assert(Files.size(trace.resolve("o-1-from-2.jfr")) > 0)
    assert(Files.getLastModifiedTime(recording) == time)
    val asks = jdk.jfr.consumer.RecordingFile.readAllEvents(recording).asScala
      .filter(_.getEventType.getName == "io.oap.ChunkAccess")
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val printed =
      Process(Seq(java, "../dev/chunk-trace.d/ChunkTrace.java", recording.toString)).lazyLines
    val numbers = printed.map(_.split(" ").map(_.toLong)).toSeq
    assert(numbers.size > 10 && numbers.forall(_.length == 4))
    assert(numbers.map(_(3)).sorted === asks.map(_.getLong("bytes")).sorted)
  }
}
