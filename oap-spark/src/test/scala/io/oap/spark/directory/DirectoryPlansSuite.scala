package io.oap.spark.directory

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.placement.{Assignment, PlacementUnit}

/** What the Directory remembers of plans until executors report. */
final class DirectoryPlansSuite extends AnyFunSuite with DirectoryReports {
  private def piece(file: Long, home: Int, bytes: Long): PlacementUnit =
    PlacementUnit(file, 0, bytes, Array.empty, home, Array.empty)

  test("homes are known by the next scan, until the executor is lost") {
    val directory = withExecutors("1", "2")
    val scan = directory.scan(Nil, isCaseSensitive = true)
    assert(scan.home(7, 0) == -1)
    val guests =
      Assignment.nowhere(3).copy(executors = Array(1, 0, -1), isGuest = Array(false, true, false))
    scan.settle(Array(piece(7, -1, 50), piece(8, -1, 60), piece(9, -1, 70)), guests)
    val next = directory.scan(Nil, isCaseSensitive = true)
    assert(Seq(7L, 8L, 9L).map(next.home(_, 0)) == Seq(1, -1, -1))
    assert(next.home(7, 1) == -1)
    assert(next.executors.map(_.plannedBytes).toSeq == Seq(0, 50))
    directory.executorLost("2")
    directory.executorJoined("2", "host2", 4)
    assert(directory.scan(Nil, isCaseSensitive = true).home(7, 0) == -1)
  }

  test("planned bytes are those not reported yet, and fade") {
    var now = 0L
    val directory = new Directory(limit, () => now)
    directory.executorJoined("1", "host", 4)
    def planned = directory.scan(Nil, isCaseSensitive = true).executors.head.plannedBytes
    def settle(home: Int) = directory
      .scan(Nil, isCaseSensitive = true)
      .settle(Array(piece(7, home, 40)), Assignment.nowhere(1).copy(executors = Array(0)))
    settle(-1)
    settle(0)
    assert(planned == 40)
    report(directory, "1", 0, added(8, 0, 1, 2))
    assert(planned == 33)
    report(directory, "1", 1, added(8, 0, 1, 2))
    assert(planned == 33)
    now += 30L * 1000 * 1000 * 1000
    assert(planned == 16)
    report(directory, "1", 2, added(8, 3, 4, 5))
    assert(planned == 0)
  }

  test("what was planned of files that nobody knew is put right when their layout is known") {
    var now = 0L
    val directory = new Directory(limit, () => now)
    Seq("1", "2").foreach(directory.executorJoined(_, "host", 4))
    def planned =
      directory.scan(Nil, isCaseSensitive = true).executors.map(_.plannedBytes).toSeq
    // Three ranges: the first row group, of 7 bytes, the second, of 56, and what follows them.
    val ranges = Array((0L, 500L, 0), (500L, 600L, 1), (1100L, 900L, 1)).map {
      case (from, length, executor) =>
        PlacementUnit(7, from, length, Array.empty, -1, Array.empty) -> executor
    }
    val scan = directory.scan(Seq("b"), isCaseSensitive = false)
    assert(scan.rowGroups(7).isEmpty)
    scan.settle(ranges.map(_._1), Assignment.nowhere(3).copy(executors = ranges.map(_._2)))
    assert(planned == Seq(500, 1500))
    now += 30L * 1000 * 1000 * 1000
    assert(planned == Seq(250, 750))
    report(directory, "2", 0, added(8, 0))
    assert(planned == Seq(250, 749))
    // Of b both row groups hold 6 and 48 bytes, by now half of these; 16 have arrived.
    report(directory, "2", 1, added(7, 4))
    assert(planned == Seq(3, 7))
    // Once is enough.
    report(directory, "1", 0, added(7, 1))
    assert(planned == Seq(1, 7))
  }

  test("a layout that becomes known while a scan is planned puts its plan right as well") {
    val directory = withExecutors("1")
    val scan = directory.scan(Seq("a"), isCaseSensitive = true)
    assert(scan.rowGroups(7).isEmpty)
    report(directory, "1", 0, added(7, 1))
    val whole = PlacementUnit(7, 0, 2000, Array.empty, -1, Array.empty)
    scan.settle(Array(whole), Assignment.nowhere(1).copy(executors = Array(0)))
    assert(directory.scan(Nil, isCaseSensitive = true).executors.head.plannedBytes == 9)
  }

  test("guesses are bounded") {
    val directory = new Directory(100000)
    directory.executorJoined("1", "host", 4)
    val scan = directory.scan(Seq("a"), isCaseSensitive = true)
    // Of three ranges of a file, then of one of each.
    val pieces =
      Array.tabulate(5000)(n => PlacementUnit(n / 3 * 3, n, 1, Array.empty, -1, Array.empty))
    for (some <- Seq(pieces, pieces.map(piece => piece.copy(file = piece.position)))) {
      some.foreach(piece => scan.rowGroups(piece.file))
      scan.settle(some, Assignment.nowhere(5000).copy(executors = new Array(5000)))
      assert(directory.estimatedBytes <= 25000 + 12500)
    }
  }

  test("homes are bounded") {
    val directory = new Directory(100000)
    directory.executorJoined("1", "host", 4)
    val pieces = Array.tabulate(5000)(n => piece(n, -1, 1))
    val scan = directory.scan(Nil, isCaseSensitive = true)
    scan.settle(pieces, Assignment.nowhere(5000).copy(executors = new Array(5000)))
    assert(directory.estimatedBytes <= 25000)
    assert(scan.home(0, 0) == -1 && scan.home(4999, 0) == 0)
  }
}
