package io.oap.spark.sql

import org.apache.spark.sql.AnalysisException
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.executor.{HeldChunk, HeldFile}

/** Sums of what executors hold, and what may not be listed. */
class HeldSumsSuite extends AnyFunSuite {

  /** A file of two leaves of `s` and one of `id`, a hundred bytes each in each of two row groups. */
  private def file(path: String, chunks: HeldChunk*): HeldFile = HeldFile(
    path,
    1000,
    7,
    "",
    Array("s", "s", "id"),
    Array(200, 200, 200),
    chunks.toArray,
    chunksFound = 0,
    chunksAsked = 0)

  private def encoded(rowGroup: Int, leaf: Int) =
    HeldChunk(rowGroup, leaf, isVector = false, 100, 100, isPinned = false)

  private def vector(rowGroup: Int, leaf: Int) =
    HeldChunk(rowGroup, leaf, isVector = true, 30, 100, isPinned = false)

  private val held = Seq(
    "1" -> file("/a", encoded(0, 0), encoded(0, 2)),
    "2" -> file("/a", encoded(0, 0), vector(0, 0), vector(1, 1)),
    "2" -> file("/b", encoded(1, 2)))

  private def sums[K](groupOf: HeldFile => String => K): Map[K, HeldSum] = {
    val sums = new HeldSums(groupOf)
    val isNew = held.map { case (executor, file) => sums.add(executor, file) }
    assert(isNew === Seq(true, false, true))
    sums.result
  }

  private def numbers(sum: HeldSum): Seq[Any] =
    Seq[Any](
      sum.executors,
      sum.files,
      sum.chunks,
      sum.encodedBytes,
      sum.vectorBytes,
      sum.share(1),
      sum.bytesByColumn.toMap)

  test("of all, by file and by column") {
    assert(sums(_ => _ => "").view.mapValues(numbers).toMap === Map(
      "" -> Seq[Any](2, 2, 6L, 400L, 60L, 400.0 / 1200, Map("s" -> 260L, "id" -> 200L))))
    assert(sums(file => _ => file.path).view.mapValues(numbers).toMap === Map(
      "/a" -> Seq[Any](2, 1, 5L, 300L, 60L, 0.5, Map("s" -> 260L, "id" -> 100L)),
      "/b" -> Seq[Any](1, 1, 1L, 100L, 0L, 100.0 / 600, Map("id" -> 100L))
    ))
    assert(sums(_ => column => column).view.mapValues(numbers).toMap === Map(
      "s" -> Seq[Any](2, 1, 4L, 200L, 60L, 200.0 / 800, Map("s" -> 260L)),
      "id" -> Seq[Any](2, 2, 2L, 200L, 0L, 0.5, Map("id" -> 200L))
    ))
  }

  test("each leaf of each file is looked at once, however many columns there are") {
    var steps = 0
    val sums = new HeldSums(_ => column => { steps += 1; column })
    val columns = 500
    for (number <- 1 to 20) sums.add(
      "1",
      HeldFile(
        s"/$number",
        1,
        1,
        "",
        Array.tabulate(columns)(i => s"c$i"),
        Array.fill(columns)(100L),
        Array.tabulate(columns)(encoded(0, _)),
        0,
        0))
    assert(sums.result.size === columns)
    assert(steps === 20 * columns)
  }

  test("chunks are not listed where there are too many for the driver") {
    ResidencyTables.requireFew(2000000)
    val refused = intercept[AnalysisException](ResidencyTables.requireFew(2000001))
    assert(refused.getCondition === "OAP_TOO_MANY_CHUNKS")
    Seq("2000001", "oap.system.files").foreach(word => assert(refused.getMessage.contains(word)))
  }
}
