package io.oap.tpcds.result

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.Json

/** The cells of the matrices, the systems in them, and fairness among tenants. */
class MatrixSuite extends AnyFunSuite {
  private val memory = Matrix("memory", Seq(1.09, 0.5), Seq(1, 2, 3), Seq(1), Seq(1))
  private val load = Matrix("load", Seq(0.5), Seq(1 / 3.0, 1, 2), Seq(1 / 3.0, 1), Seq(1 / 3.0, 1))
  private val measured =
    Seq("spark", "oap").map(kind => MadePlans.system(kind, kind, Map("k" -> "v")))

  test("memory: each memory with one to three tenants per slot") {
    val cells = memory.cells(4)
    assert(cells.map(_.tenants) == Seq(4, 8, 12, 4, 8, 12))
    assert(cells.map(_.pool) == Seq(1.09, 1.09, 1.09, 0.5, 0.5, 0.5))
    assert(cells.forall(cell => cell.queriesOf(Seq("a", "b")) == Seq("a", "b")))
  }

  test("load: tenants who pause are more, for the same queries in flight") {
    val cells = load.cells(12)
    assert(cells.size == 12 && cells.distinct.size == 12)
    for (cell <- cells) assert(math.abs(cell.tenants * cell.busy - cell.load * 12) < 1e-9)
    // A third of a query in flight is still one tenant.
    assert(load.cells(1).map(_.tenants).min == 1)
    val nine = (1 to 9).map(n => s"q$n")
    assert(cells.map(_.queriesOf(nine).size).distinct == Seq(3, 9))
    assert(cells.head.queriesOf(Seq("q1")) == Seq("q1"))
  }

  test("systems have the pool of their cell, and names of their own") {
    val systems = memory.systems(measured, 100L << 20, 2, 4, "vector")
    assert(systems.size == 12 && systems.map(_.name).distinct.size == 12)
    val pools =
      systems.filter(_.kind == "oap").map(_.settings("spark.oap.pool.size").toLong / (1 << 20))
    assert(pools == Seq(54, 54, 54, 25, 25, 25))
    assert(systems.filter(_.kind == "spark").forall(_.settings == Map("k" -> "v")))
    assert(systems.filter(_.kind == "oap").forall(
      _.settings("spark.oap.cache.representation") == "vector"))
    assert(systems.forall(_.settings("k") == "v"))
    assert(systems.head.name == "spark pool 1.09, load 1.00")
    val of = load.systems(measured, 100L << 20, 1, 4, "encoded")
    assert(of.size == 24 && of.map(_.name).distinct.size == 24)
    assert(of.last.name == "oap size 1.00, busy 1.00, load 2.00")
  }

  test("what was written is read again") {
    for (matrix <- Seq(memory, load)) {
      // Whole numbers, too, are numbers with a fraction.
      val text = Json.write(matrix).replace(".0,", ",").replace(".0 ", " ")
      assert(text.contains("1,") || text.contains("1 "))
      val again = Json.read(text, classOf[Matrix])
      assert(again == matrix && again.cells(2).map(_.tenants) == matrix.cells(2).map(_.tenants))
    }
  }

  private def record(seconds: Seq[Double]): Round = {
    val queries = seconds.zipWithIndex.flatMap { case (s, tenant) =>
      // Half in each of two queries, and a pause between them that is nobody's fault.
      Seq(0.0, 100.0 * tenant).map(QueryRun("q", s / 2, Map.empty, 0, tenant, _))
    }
    Round("s", 1, 1, queries, 1)
  }

  test("fairness: the slowest over the mean, and Jain's index, pauses left out") {
    assert(record(Seq(2, 2, 2)).slowestOverMean == 1 && record(Seq(2, 2, 2)).jain == 1)
    assert(math.abs(record(Seq(1, 1, 4)).slowestOverMean - 2) < 1e-12)
    // Speeds 1, 1 and a quarter: 2.25 squared over 3 times 2.0625.
    assert(math.abs(record(Seq(1, 1, 4)).jain - 5.0625 / 6.1875) < 1e-12)
    val seed = System.nanoTime()
    val random = new Random(seed)
    for (_ <- 1 to 200) {
      val n = 1 + random.nextInt(20)
      val round = record(Seq.fill(n)(0.1 + random.nextDouble() * 10))
      val said = s"seed $seed: $round"
      assert(round.jain <= 1 + 1e-9 && round.jain >= 1.0 / n - 1e-9, said)
      assert(round.slowestOverMean >= 1 - 1e-9 && round.slowestOverMean <= n + 1e-9, said)
    }
  }
}
