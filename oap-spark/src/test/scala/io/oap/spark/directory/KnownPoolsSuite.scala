package io.oap.spark.directory

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.placement.{Assignment, Holding, PlacementUnit}

/** What the Directory knows of executors that have one pool together. */
final class KnownPoolsSuite extends AnyFunSuite with DirectoryReports {
  private var now = 0L

  /** Executors 1 and 2 have one pool on a host, 3 has its own on another one. */
  private def twoAndOne(): Directory = {
    now = 0
    val directory = new Directory(limit, () => now)
    for ((id, host) <- Seq("1" -> "a", "2" -> "a", "3" -> "b"))
      directory.executorJoined(id, host, 4)
    report(directory, "3", 0)
    directory
  }

  private def bothTell(directory: Directory): Unit =
    Seq("1", "2").foreach(sharing(directory, _, "/p", added(7, 0, 1, 2)))

  private def scan(directory: Directory) = directory.scan(Seq("a", "B"), isCaseSensitive = true)

  private def members(directory: Directory): Seq[Seq[String]] =
    scan(directory).executors.toSeq.map(_.members.map(_.id))

  /** Wanted bytes of the first row group, by the executors that have it. */
  private def held(directory: Directory): Map[Seq[String], Long] = {
    val one = scan(directory)
    one.rowGroups(7).toSeq.flatMap(_.head.holdings)
      .map(held => one.executors(held.executor).members.map(_.id) -> held.wantedBytes).toMap
  }

  test("executors that have one pool count as one, with its size once and their cores together") {
    val directory = twoAndOne()
    bothTell(directory)
    val executors = scan(directory).executors
    assert(executors.map(one => (one.name, one.cores, one.capacityBytes, one.usedBytes)).toSeq ===
      Seq(("/p", 8, 1000, 100), ("3", 4, 1000, 100)))
    assert(executors.head.members.map(_.location) === Seq("executor_a_1", "executor_a_2"))
    assert(scan(directory).rowGroups(7).get.head.holdings === Array(Holding(0, 7, 7)))
    val totals = directory.totals()
    assert((totals.heldBytes, totals.heldTwiceBytes) === ((7, 0)))
    assert(totals.executors.map(_.chunks) === Seq(3, 0))
    report(directory, "3", 1, added(7, 0))
    assert(directory.totals().heldTwiceBytes === 1)
  }

  test("of what members tell that which is more counts: one may have looked later") {
    val directory = twoAndOne()
    sharing(directory, "1", "/p", added(7, 0))
    sharing(directory, "2", "/p", added(7, 0, 2))
    assert(held(directory) === Map(Seq("1", "2") -> 5))
  }

  test("a member that is lost takes nothing along, and no other is expected for its pool") {
    for (lost <- Seq("1", "2")) {
      val directory = twoAndOne()
      bothTell(directory)
      val left = if (lost == "1") "2" else "1"
      directory.executorLost(lost)
      assert(held(directory) === Map(Seq(left) -> 7))
      assert(scan(directory).expectedRoomBytes === 0)
      assert(scan(directory).executors.map(_.name).toSet === Set("/p", "3"), "as the hash knows it")
    }
  }

  test("who joins a host has the pool of the others at once, until it tells of another one") {
    val directory = twoAndOne()
    bothTell(directory)
    directory.executorJoined("4", "a", 4)
    directory.executorJoined("5", "b", 4)
    assert(held(directory) === Map(Seq("1", "2", "4") -> 7))
    assert(!directory.takeNewcomer("4") && directory.takeNewcomer("5"))
    assert(!scan(directory).executors.head.isLate)
    sharing(directory, "4", "/p", added(7, 0, 1, 2))
    assert(held(directory) === Map(Seq("1", "2", "4") -> 7))
    directory.executorJoined("6", "a", 4)
    report(directory, "6", 0, added(7, 0))
    assert(held(directory) === Map(Seq("1", "2", "4") -> 7, Seq("6") -> 1))
  }

  test("a newcomer that opens a pool with others needs no part of theirs") {
    val directory = twoAndOne()
    report(directory, "3", 1, added(8, 0))
    directory.executorJoined("4", "c", 4)
    directory.executorJoined("5", "c", 4)
    sharing(directory, "4", "/q")
    sharing(directory, "5", "/q")
    assert(directory.takeNewcomer("4") && !directory.takeNewcomer("5"))
  }

  test("executors of which nothing is known have the pool that the first of their host tells of") {
    val directory = twoAndOne()
    assert(members(directory) === Seq(Seq("1"), Seq("2"), Seq("3")))
    sharing(directory, "2", "/p", added(7, 0, 1, 2))
    assert(members(directory) === Seq(Seq("2", "1"), Seq("3")), "2 is asked about it")
    assert(held(directory) === Map(Seq("2", "1") -> 7))
  }

  test("what plans have sent to a member belongs to the pool, whichever members there are") {
    val directory = twoAndOne()
    val piece = PlacementUnit(7, 0, 50, Array.empty, -1, Array.empty)
    def home = {
      val one = scan(directory)
      one.executors.lift(one.home(7, 0)).map(_.members.map(_.id))
    }
    scan(directory).settle(Array(piece), Assignment.nowhere(1).copy(executors = Array(1)))
    assert(home === Some(Seq("2")))
    Seq("1", "2").foreach(sharing(directory, _, "/p"))
    assert(home === Some(Seq("1", "2")))
    assert(scan(directory).executors.head.plannedBytes === 50)
    directory.executorLost("2")
    assert(home === Some(Seq("1")))
  }

  test(
    "a pool is there for the next one on its host when the last one has gone, for some minutes") {
    val directory = twoAndOne()
    def lose(): Unit = {
      bothTell(directory)
      directory.executorLost("1")
      directory.executorReleased("2")
      assert(held(directory) === Map.empty && directory.totals().heldBytes === 0)
      assert(members(directory) === Seq(Seq("3")))
    }
    lose()
    directory.executorJoined("4", "a", 4)
    assert(held(directory) === Map(Seq("4") -> 7))
    assert(!directory.takeNewcomer("4"))
    assert(scan(directory).executors.find(_.id == "4").map(_.capacityBytes) === Some(1000))
    sharing(directory, "4", "/p", added(7, 0))
    assert(held(directory) === Map(Seq("4") -> 1), "what it tells is what there is")

    directory.executorLost("4")
    Seq("1", "2").foreach(directory.executorJoined(_, "a", 4))
    lose()
    now += 301L * 1000 * 1000 * 1000
    directory.executorJoined("5", "a", 4)
    assert(held(directory) === Map.empty)
  }

  test(
    "the last one of a pool that is lost is expected to be replaced, with the pool's size once") {
    val directory = twoAndOne()
    bothTell(directory)
    Seq("1", "2").foreach(directory.executorLost)
    assert(scan(directory).expectedRoomBytes === 1000)
    Seq("4", "5").foreach(directory.executorJoined(_, "a", 4))
    assert(scan(directory).expectedRoomBytes === 0)
    assert(members(directory) === Seq(Seq("3"), Seq("4", "5")))
  }

  test("a member that leaves gets no work, and the others have the pool") {
    val directory = twoAndOne()
    bothTell(directory)
    directory.executorLeaves("1")
    assert(!directory.takesPoolAlong("1"))
    assert(held(directory) === Map(Seq("2") -> 7))
    directory.executorLeaves("2")
    assert(directory.takesPoolAlong("2") && !directory.takesPoolAlong("1"), "once for a pool")
    assert(held(directory) === Map.empty)
  }

  test("who has told of a pool hands it over, whoever else may have it") {
    for (isFirst <- Seq(true, false)) {
      val directory = twoAndOne()
      sharing(directory, "1", "/p", added(7, 0, 1, 2))
      if (isFirst) {
        directory.executorLeaves("1")
        assert(directory.takesPoolAlong("1"), "2 has not told of it")
        directory.executorLeaves("2")
        assert(!directory.takesPoolAlong("2"))
      } else {
        Seq("1", "2").foreach(directory.executorLeaves)
        assert(!directory.takesPoolAlong("2") && directory.takesPoolAlong("1"))
      }
    }
  }

  test("a pool is lost with its size, also when the last one that had it had not told of it") {
    val directory = twoAndOne()
    sharing(directory, "1", "/p", added(7, 0))
    Seq("1", "2").foreach(directory.executorLost)
    assert(scan(directory).expectedRoomBytes === 1000)
  }

  test("who joins a host has the pool that is there rather than one that is remembered") {
    for (pool <- Seq("/a", "/q", "/x", "/z")) {
      val directory = twoAndOne()
      bothTell(directory)
      Seq("1", "2").foreach(directory.executorReleased)
      directory.executorJoined("4", "a", 4)
      sharing(directory, "4", pool, added(8, 0))
      directory.executorJoined("5", "a", 4)
      assert(members(directory) === Seq(Seq("3"), Seq("4", "5")), pool)
    }
  }

  test("an executor without a shared pool may be on a host that has one") {
    val directory = twoAndOne()
    directory.executorJoined("4", "a", 4)
    report(directory, "4", 0, added(7, 0))
    bothTell(directory)
    assert(held(directory) === Map(Seq("1", "2") -> 7, Seq("4") -> 1))
    assert(directory.having("4") === Seq("4") && directory.having("1") === Seq("1", "2"))
    assert(directory.having("9") === Nil)
  }
}
