package io.oap.tpcds.result

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.{Circumstances, Json}

/** What a result sums up of its rounds. */
class ResultSuite extends AnyFunSuite {
  private def query(name: String, tenant: Int, seconds: Double, error: String = "") =
    QueryRun(name, seconds, Map.empty, 1, tenant, error = error)

  private def round(system: String, number: Int, queries: QueryRun*) =
    Round(system, 1, number, queries, 100.0 * number)

  private val systems = Seq("a", "b").map(MadePlans.system(_, "spark"))

  private def summedUp(rounds: Round*): Result = {
    val plan = MadePlans.plan(systems).copy(queries = Seq("q1", "q2"), tenants = 2)
    val facts = Circumstances("", Map.empty, Map.empty, Map.empty, Map.empty)
    Result(plan, Nil, facts, 0, systems, rounds, Nil, Nil).summedUp
  }

  test("a query that several tenants ran in a round has one time there: their geometric mean") {
    val result = summedUp(
      round("a", 1, query("q1", 0, 2), query("q1", 1, 8), query("q2", 0, 3), query("q2", 1, 3)),
      round("a", 2, query("q1", 0, 5), query("q1", 1, 5), query("q2", 0, 1), query("q2", 1, 4)),
      round("b", 1, query("q1", 0, 1), query("q1", 1, 1), query("q2", 0, 6), query("q2", 1, 6))
    )
    def of(what: String) = result.times.find(t => t.what == what && t.system == "a").get
    assert(result.times.filter(_.system == "a").map(_.runs) == Seq(2, 2, 2))
    assert(math.abs(of("q1").median - 4.5) < 1e-9 && math.abs(of("q2").median - 2.5) < 1e-9)
    assert(of("round").median == 150)
    val compared = result.comparisons.find(_.what == "q1").get
    assert(compared.base == "a" && compared.other == "b")
    assert(compared.times.baseRuns == 2 && compared.times.otherRuns == 1)
  }

  test("warm-up and rounds with a failed query count nowhere") {
    val result = summedUp(
      round("a", 0, query("q1", 0, 9)),
      round("a", 1, query("q1", 0, 2)),
      round("a", 2, query("q1", 0, 9), query("q2", 0, 9, error = "lost")))
    assert(result.times.map(t => (t.what, t.runs, math.round(t.median))) == Seq(
      ("round", 1, 100),
      ("q1", 1, 2)))
    assert(result.comparisons.isEmpty)
  }

  test("what is written is read again, with what the report takes from it beside it") {
    val scanned = query("q1", 0, 2).copy(
      scan = Map[String, Long]("bytesFromPool" -> 3L, "bytesFromFile" -> (1L << 40)),
      fileBytes = Some(7),
      requests = None)
    val result =
      summedUp(round("a", 1, scanned, query("q1", 1, 6)), round("b", 1, query("q1", 0, 1)))
    val json = Json.write(result)
    val again = Json.read(json, classOf[Result])
    // NaN is no number that equals itself, so the times are left out.
    assert(again.rounds == result.rounds && again.plan == result.plan)
    val read = again.rounds.head.queries.head
    assert(read.fromPool + 1 == 4 && read.fromFile == 1L << 40 && read.fileBytes.exists(_ + 1 == 8))
    assert(Json.write(again) == json)
    val tree = new ObjectMapper().readTree(json)
    assert(
      tree.at("/rounds/0/counts").asBoolean && tree.at("/rounds/0/slowestOverMean").asDouble == 1.5)
    assert(math.abs(tree.at("/rounds/0/jain").asDouble - 0.8) < 1e-12)
    assert(tree.at("/roundsForAClaim").asInt == 10)
    assert(tree.at("/bars").size == 2 && tree.at("/bars/0/measured").asText == "1.50")
  }
}
