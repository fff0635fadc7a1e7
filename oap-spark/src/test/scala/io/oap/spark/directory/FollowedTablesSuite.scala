package io.oap.spark.directory

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS

import io.oap.spark.CacheSuite
import io.oap.spark.executor.LeaveFirst
import io.oap.spark.rpc.Wire
import io.oap.spark.table.PinnedColumns

/** What is done when a query finds a table in another state than the query before. */
class FollowedTablesSuite extends CacheSuite {

  private class Following {
    val left = new LinkedBlockingQueue[Set[String]]
    val warmed = new LinkedBlockingQueue[NewFiles]
    private var calls = 0
    val tables = new FollowedTables((request: LeaveFirst) => left.add(request.paths): Unit)
    tables.warm = files => warmed.add(files): Unit

    def find(id: Long, order: Long, key: String = "t", isPinned: Boolean = false): Unit =
      tables.onFound(spark, Some(new Found(key, TableState(id, order), isPinned)))

    /** What has left and what was loaded once all that went before is done. */
    def done(): (Seq[Set[String]], Seq[Set[String]]) = {
      calls += 1
      for (step <- 1 to 2) find(step, step, s"last-$calls", isPinned = true)
      def until[A](queue: LinkedBlockingQueue[A])(files: A => Set[String]) =
        Iterator.continually(files(queue.poll(60, SECONDS)))
          .takeWhile(!_.exists(_.startsWith("last"))).toSeq
      (until(left)(identity), until(warmed)(_.files))
    }
  }

  private class Found(
      override val key: String,
      override val state: TableState,
      isPinned: Boolean = false)
      extends FollowedTable {
    override def name: Option[String] = Some(key)
    override def pinned: Option[PinnedColumns] =
      if (isPinned) Some(PinnedColumns.of(Seq("a"))) else None
    override def changesSince(former: TableState): FileChanges = {
      if (key == "damaged") throw new NoClassDefFoundError("of another version")
      FileChanges(Set(s"$key-${former.id}"), Set(s"$key-${state.id}"))
    }
  }

  test("a table that stays as it is") {
    val all = new Following
    for (_ <- 1 to 3) all.find(1, 1, isPinned = true)
    assert(all.done() === (Nil, Nil))
  }

  test("a table that moves on") {
    val all = new Following
    for (step <- 1 to 3; _ <- 1 to 2) all.find(step * 7, step)
    assert(
      all.done() === (Seq(Set("t-7"), Set("t-14")), Nil),
      "no file is loaded: it is not pinned")
  }

  test("a table of which many files are gone") {
    val gone = (1 to 50000).map(i => f"s3a://bucket/${"folder/" * 12}part-$i%05d.parquet").toSet
    val messages = new LinkedBlockingQueue[LeaveFirst]
    val tables = new FollowedTables(messages.add(_): Unit)
    for (state <- 1 to 2) tables.onFound(
      spark,
      Some(new Found("t", TableState(state, state)) {
        override def changesSince(former: TableState) = FileChanges(gone, Set.empty)
      }))
    var left = Set.empty[String]
    while (left.size < gone.size) {
      val message = messages.poll(60, SECONDS)
      assert(Wire.encode(message).length < (2 << 20))
      left ++= message.paths
    }
    assert(left === gone)
  }

  test("a pinned table that moves on") {
    val all = new Following
    all.find(1, 1, isPinned = true)
    all.find(2, 2, isPinned = true)
    assert(all.done() === (Seq(Set("t-1")), Seq(Set("t-2"))))
  }

  test("sessions that know a former state, and a state that comes back") {
    val all = new Following
    all.find(2, 20)
    all.find(1, 10)
    all.find(2, 30)
    assert(all.done() === (Nil, Nil))
    all.find(1, 40)
    assert(all.done()._1 === Seq(Set("t-2")))
  }

  test("what cannot be told, and a table without a state") {
    val all = new Following
    all.find(1, 1, "damaged")
    all.find(2, 2, "damaged")
    all.tables.onFound(spark, throw new NoClassDefFoundError("of another version"))
    all.tables.onFound(spark, None)
    assert(all.done() === (Nil, Nil))
  }

  test("a session that does not want it") {
    val all = new Following
    all.find(1, 1)
    withConf("spark.oap.cache.followTables" -> "false")(all.find(2, 2))
    assert(all.done()._1 === Nil)
  }
}
