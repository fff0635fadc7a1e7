package io.oap.spark.cluster

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.directory.{Directory, DirectoryReports}
import io.oap.spark.executor.HotRowGroups
import io.oap.spark.placement.Hash64

/** What the driver knows of row groups that executors tell of. */
final class HeldAloneSuite extends AnyFunSuite with DirectoryReports {

  /**
   * Executor 1 holds file 7, and the last pool that there is keeps copies.
   *
   * @param bytes what each of its two row groups takes in the pool of 1
   */
  private def told(directory: Directory, bytes: Long): Seq[HotRowGroup] = {
    report(directory, "1", 0, added(7, 0, 1, 2, 3, 4, 5))
    val (known, _) = directory.snapshot()
    val keys = Seq(0L, 1000L).map(Hash64.pieceKey(7, _))
    directory.keepReplicas(mutable.LongMap.from(keys.map(_ -> known.last)))
    val hot = HotRowGroups(Array(7, 7), Array(0, 1), Array(bytes, bytes), Array(4, 4), Array(0))
    new HeldAlone(directory, known).of(hot, holder = 0)
  }

  private def copied(all: Seq[HotRowGroup]): Seq[(Long, Boolean)] =
    all.map(one => one.copiedBytes -> one.isCopied)

  test("what a keeper has of a row group is in bytes of the pool, decoded or not") {
    for (bytes <- Seq(7L, 7000L)) {
      val directory = withExecutors("1", "2")
      // 3 of 7 encoded bytes of the first row group, 24 of 56 of the second.
      report(directory, "2", 0, added(7, 0, 1, 3, 4))
      val some = told(directory, bytes)
      assert(some.map(_.bytes) === Seq(bytes, bytes))
      assert(copied(some) === Seq(bytes / 7 * 3 -> false, bytes / 7 * 3 -> false))
    }
  }

  test("of executors that have the keeper's pool the one counts that tells of most") {
    for (order <- Seq(Seq("2", "3"), Seq("3", "2"))) {
      val directory = withExecutors("1", "2", "3")
      val held = Seq(added(7, 0), added(7, 0, 1, 3, 4, 5))
      for ((id, file) <- order.zip(held)) sharing(directory, id, "/p", file)
      assert(copied(told(directory, 70)) === Seq(30L -> false, 70L -> true))
    }
  }
}
