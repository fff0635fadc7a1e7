package io.oap.spark.cluster

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.directory.{Directory, DirectoryReports}
import io.oap.spark.executor.HandOver
import io.oap.spark.placement.Placement

/** What an executor that joins others is to copy from them. */
final class NewcomersSuite extends AnyFunSuite with DirectoryReports {

  /** By file and row group, the executor that is to hand it over. */
  private def dealt(deals: Map[String, HandOver]): Map[(Long, Int), String] = for {
    (holder, some) <- deals
    i <- some.files.indices
  } yield (some.files(i), some.rowGroups(i)) -> holder

  private def homes(directory: Directory, file: Long): Seq[String] = {
    val scan = directory.scan(Seq("a"), isCaseSensitive = false)
    Seq(0L, 1000L).map(scan.home(file, _)).map(at => if (at < 0) "" else scan.executors(at).id)
  }

  test("it gets its part of what each holds, and no more") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, (1L to 300L).map(added(_, 0, 3)): _*)
    report(directory, "2", 0, (301L to 600L).map(added(_, 0, 3)): _*)
    directory.executorJoined("3", "host3", 4)
    report(directory, "3", 0)
    val parts = dealt(Newcomers.partOf(directory, "3"))
    assert(parts.forall { case ((file, _), holder) => holder == (if (file <= 300) "1" else "2") })
    val counts = parts.values.groupBy(identity).map(_._2.size)
    assert(counts.size === 2 && counts.forall(n => n > 160 && n < 240), s"$counts of 600 each")
    for (((file, rowGroup), _) <- parts) assert(homes(directory, file)(rowGroup) === "3")
    // Those that join next get as much of what it has by then as of what the others have.
    directory.executorJoined("4", "host4", 4)
    report(directory, "4", 0)
    val next = dealt(Newcomers.partOf(directory, "4"))
    assert(next.size > 240 && next.size < 360 && next.keySet.intersect(parts.keySet).size > 60)
  }

  test("the one that holds most hands over, and what the newcomer has is not copied") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, (1L to 100L).map(added(_, 0, 3)): _*)
    report(directory, "2", 0, (1L to 100L).map(added(_, 1, 3, 4)): _*)
    directory.executorJoined("3", "host3", 4)
    report(directory, "3", 0, (1L to 50L).map(added(_, 0, 1, 3, 4)): _*)
    val parts = dealt(Newcomers.partOf(directory, "3"))
    assert(parts.keySet.map(_._1).min > 50 && parts.size > 10)
    assert(parts.values.toSet === Set("2"))
  }

  test("nobody waits for the Directory while row groups are hashed") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, (1L to 100L).map(added(_, 0, 3)): _*)
    report(directory, "2", 0)
    var hashed = 0
    val parts = dealt(Newcomers.partOf(
      directory,
      "2",
      executors => {
        val place = Placement.byHash(executors)
        key => {
          assert(!Thread.holdsLock(directory))
          hashed += 1
          place(key)
        }
      }))
    assert(hashed === 200 && parts.size > 60)
  }

  test("who joins others that hold something is a newcomer, once, if it replaces none") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0)
    assert(!directory.takeNewcomer("2"))
    report(directory, "1", 1, added(7, 0))
    directory.executorJoined("3", "host3", 4)
    assert(directory.takeNewcomer("3"))
    assert(!directory.takeNewcomer("3"))
    report(directory, "3", 0)
    directory.executorLost("3")
    directory.executorJoined("4", "host4", 4)
    assert(!directory.takeNewcomer("4"), "it takes the place of 3")
    directory.executorJoined("5", "host5", 4)
    assert(directory.takeNewcomer("5"))
    directory.executorReleased("1")
    directory.executorJoined("6", "host6", 4)
    assert(!directory.takeNewcomer("6"), "nobody holds anything")
    assert(Newcomers.partOf(directory, "9") === Map.empty, "unknown")
  }
}
