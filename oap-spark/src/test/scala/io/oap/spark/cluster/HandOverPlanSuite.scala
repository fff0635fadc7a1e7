package io.oap.spark.cluster

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.directory.{Directory, DirectoryReports}
import io.oap.spark.executor.HandOver

/** To whom the row groups of an executor that leaves are dealt out. */
final class HandOverPlanSuite extends AnyFunSuite with DirectoryReports {

  /** By file and row group, the executor that is to have it. */
  private def dealt(deal: Option[HandOver]): Map[(Long, Int), String] =
    deal.toSeq.flatMap { some =>
      some.files.indices.map(i =>
        (some.files(i), some.rowGroups(i)) -> some.receivers(some.to(i)))
    }.toMap

  private def plan(directory: Directory, reachable: String*) = {
    assert(directory.executorLeaves("1"))
    dealt(new HandOverPlan(directory, reachable.contains).of("1"))
  }

  private def homes(directory: Directory, file: Long): Seq[String] = {
    val scan = directory.scan(Seq("a"), isCaseSensitive = false)
    Seq(0L, 1000L).map(scan.home(file, _)).map(at => if (at < 0) "" else scan.executors(at).id)
  }

  test("what others have is not dealt out, and the rest belongs to one of them") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(7, 0, 1, 3), added(8, 4))
    report(directory, "2", 0, added(7, 0, 1), added(9, 0))
    report(directory, "3", 0, added(9, 3))
    val deal = plan(directory, "2", "3")
    assert(deal.keySet === Set((7L, 1), (8L, 1)))
    assert(deal.values.toSet.subsetOf(Set("2", "3")))
    assert(homes(directory, 7) === Seq("", deal((7L, 1))))
    assert(homes(directory, 8) === Seq("", deal((8L, 1))))
  }

  test("a row group goes where most of it is already") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(7, 3, 4, 5))
    report(directory, "3", 0, added(7, 5))
    report(directory, "2", 0, added(7, 3))
    assert(plan(directory, "2", "3") === Map((7L, 1) -> "3"))
  }

  test("who cannot be told or has no pool gets nothing") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(7, 0, 3), added(8, 0, 3))
    report(directory, "2", 0)
    // A copy that nobody can be told of is no less a copy.
    report(directory, "3", 0, added(8, 0))
    assert(plan(directory, "2") === Map((7L, 0) -> "2", (7L, 1) -> "2", (8L, 1) -> "2"))
    val alone = withExecutors("1", "2")
    report(alone, "1", 0, added(7, 0))
    assert(plan(alone) === Map.empty)
  }

  test("a pool that others have is handed over when the last of them leaves") {
    val directory = withExecutors("1", "2", "3")
    Seq("1", "2").foreach(sharing(directory, _, "/p", added(7, 0)))
    report(directory, "3", 0)
    assert(plan(directory, "2", "3") === Map.empty)
    assert(directory.executorLeaves("2"))
    val last = new HandOverPlan(directory, _ => true).of("2")
    assert(dealt(last) === Map((7L, 0) -> "3"))
    assert(new HandOverPlan(directory, _ => true).of("1").isEmpty, "once")
  }

  test("the first row group begins where the file does") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(7, 0))
    report(directory, "2", 0)
    assert(plan(directory, "2") === Map((7L, 0) -> "2"))
    assert(homes(directory, 7) === Seq("2", ""))
  }

  test("much is dealt out evenly") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, (1L to 200L).map(added(_, 0)): _*)
    report(directory, "2", 0)
    report(directory, "3", 0)
    val counts = plan(directory, "2", "3").values.groupBy(identity).map(_._2.size)
    assert(counts.size === 2 && counts.min >= 80, counts)
  }

  test("an executor that leaves is in no scan, and no other one is expected for it") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(7, 0))
    assert(directory.executorLeaves("1"))
    assert(!directory.executorLeaves("1"), "no news")
    assert(!directory.executorLeaves("9"), "unknown")
    val scan = directory.scan(Seq("a"), isCaseSensitive = false)
    assert(scan.executors.map(_.id).toSeq === Seq("2"))
    assert(scan.rowGroups(7).get.forall(_.holdings.isEmpty))
    assert(report(directory, "1", 1, added(7, 1)).isAccepted, "it is heard all the same")
    assert(directory.isLive("1"))
    report(directory, "2", 0)
    def expected = directory.scan(Seq("a"), isCaseSensitive = false).expectedRoomBytes
    directory.executorLost("1")
    assert(expected === 0)
    directory.executorLost("2")
    assert(expected === 1000)
  }
}
