package io.oap.spark.directory

import java.util.concurrent.{FutureTask, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.rpc.{FileDelta, ResidencyDelta}

/** What the Directory makes of reports and losses. */
final class DirectorySuite extends AnyFunSuite with DirectoryReports {

  /** Of each row group: executor, wanted bytes, bytes. */
  private def holdings(
      directory: Directory,
      file: Long,
      columns: String*): Seq[Seq[(String, Long, Long)]] = {
    val scan = directory.scan(columns, isCaseSensitive = false)
    scan.rowGroups(file).toSeq.flatMap(_.toSeq.map { rowGroup =>
      rowGroup.holdings.toSeq.map(h => (scan.executors(h.executor).id, h.wantedBytes, h.anyBytes))
    })
  }

  test("row groups, their ends and their wanted bytes") {
    val directory = withExecutors("1")
    report(directory, "1", 0, added(7, 0))
    val rowGroups = directory.scan(Seq("B"), isCaseSensitive = true).rowGroups(7).get.toSeq
    assert(rowGroups.map(_.start) == Seq(4, 1000))
    assert(rowGroups.map(_.end) == Seq(11, 1056))
    assert(rowGroups.map(_.wantedBytes) == Seq(6, 48))
    assert(directory.scan(Seq("B"), isCaseSensitive = true).rowGroups(8).isEmpty)
  }

  test("holdings are counted by wanted columns, whatever their case if it does not matter") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "2", 0, added(7, 0, 1, 2, 5))
    report(directory, "1", 0, added(7, 3))
    assert(holdings(directory, 7, "b") == Seq(Seq(("2", 6, 7)), Seq(("1", 0, 8), ("2", 32, 32))))
    assert(holdings(directory, 7, "A") == Seq(Seq(("2", 1, 7)), Seq(("1", 8, 8), ("2", 0, 32))))
    val exact = directory.scan(Seq("b"), isCaseSensitive = true).rowGroups(7).get
    assert(exact.map(_.wantedBytes).toSeq == Seq(0, 0))
  }

  test("what is evicted is not held any more") {
    val directory = withExecutors("1")
    report(directory, "1", 0, added(7, 0, 1, 3))
    report(directory, "1", 1, evicted(7, 1, 3))
    assert(holdings(directory, 7, "a") == Seq(Seq(("1", 1, 1)), Seq()))
    val totals = directory.totals().executors.head
    assert((totals.chunks, totals.chunkBytes, totals.lastReport) == ((1, 1, 2)))
    assert(totals.executor.capacityBytes == 1000 && totals.executor.usedBytes == 200)
  }

  test("after a gap reports are refused until one begins anew") {
    val directory = withExecutors("1")
    assert(!report(directory, "1", 5, added(7, 0)).isAccepted)
    assert(report(directory, "1", 0, added(7, 0)).isAccepted)
    assert(!report(directory, "1", 2, added(7, 1)).isAccepted)
    assert(!report(directory, "1", 3, added(7, 1)).isAccepted)
    assert(holdings(directory, 7, "a") == Seq(Seq(("1", 1, 1)), Seq()))
    assert(report(directory, "1", 0, added(8, 3)).isAccepted)
    assert(report(directory, "1", 1, added(8, 4)).isAccepted)
    assert(holdings(directory, 7, "a") == Seq(Seq(), Seq()))
    assert(holdings(directory, 8, "a") == Seq(Seq(), Seq(("1", 8, 24))))
  }

  test("a file without layout is asked for, unless nothing of it was added") {
    val directory = withExecutors("1")
    val unknown = FileDelta(7, None, bits(0), bits())
    val reply = report(directory, "1", 0, unknown, evicted(8, 0), added(9, 0))
    assert(reply.isAccepted && reply.withoutLayout.toSeq == Seq(7))
    assert(holdings(directory, 7, "a").isEmpty && holdings(directory, 9, "a").nonEmpty)
    assert(report(directory, "1", 1, added(7, 0, 3)).withoutLayout.isEmpty)
    assert(report(directory, "1", 2, unknown).withoutLayout.isEmpty)
  }

  test("reports of executors that are not there change nothing") {
    val directory = withExecutors("1")
    report(directory, "1", 0, added(7, 0))
    directory.executorLost("1")
    assert(!report(directory, "1", 0, added(8, 0)).isAccepted)
    assert(!report(directory, "9", 0, added(8, 0)).isAccepted)
    assert(holdings(directory, 8, "a").isEmpty)
    assert(directory.totals().executors.isEmpty)
    directory.executorLost("1")
  }

  test("what a lost executor held does not come back with others, however many come and go") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(7, 0, 1, 2, 3, 4, 5))
    for (n <- 100 to 400) {
      directory.executorJoined(n.toString, "host", 4)
      report(directory, n.toString, 0, added(7, n % 6))
      assert(holdings(directory, 7, "a").flatten.map(_._1).distinct == Seq("1", n.toString))
      directory.executorLost(n.toString)
    }
    // Slots of lost executors are swept out and given out again.
    assert(directory.estimatedBytes < 3000)
  }

  test("a scan leaves out executors that join while it is planned, and those that are lost") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(7, 0))
    val scan = directory.scan(Seq("a"), isCaseSensitive = true)
    directory.executorLost("1")
    directory.executorJoined("0", "host", 4)
    report(directory, "0", 0, added(7, 0))
    report(directory, "2", 0, added(7, 0))
    assert(scan.executors.map(_.id).toSeq == Seq("1", "2"))
    assert(scan.rowGroups(7).get.head.holdings.map(_.executor).toSeq == Seq(1))
  }

  test("a layout that does not fit together is refused") {
    val directory = withExecutors("1")
    val wrong = FileDelta(7, Some(layout.copy(starts = Array(4L))), bits(0), bits())
    assertThrows[IllegalArgumentException](report(directory, "1", 0, wrong))
    assert(holdings(directory, 7, "a").isEmpty)
  }

  test("chunks beyond the file are passed over") {
    val directory = withExecutors("1")
    report(directory, "1", 0, added(7, 0, 6, 63, 64, 200))
    assert(directory.totals().executors.head.chunks == 1)
  }

  test("columns of files with an equal schema are kept once") {
    val directory = withExecutors("1")
    report(directory, "1", 0, added(1, 0), added(2, 0))
    val seen = Seq(1L, 2L).map(directory.look(_)((file, _, _) => file.columns).get)
    assert(seen.head eq seen.last)
  }

  test("files used longest ago are forgotten at the limit, with what is counted of them") {
    val directory = new Directory(10000)
    directory.executorJoined("1", "host", 4)
    report(directory, "1", 0, added(0, 0, 1))
    for (n <- 1 to 100) {
      report(directory, "1", n, added(n, 0, 1))
      assert(directory.scan(Seq("a"), isCaseSensitive = true).rowGroups(0).isDefined)
      assert(directory.estimatedBytes <= 10000)
    }
    val totals = directory.totals()
    assert(totals.files > 20 && totals.files < 90)
    assert(totals.executors.head.chunks == 2 * totals.files)
    assert(totals.executors.head.chunkBytes == 3 * totals.files)
    assert(holdings(directory, 1, "a").isEmpty && holdings(directory, 100, "a").nonEmpty)
  }

  test("executors of which not all is known are asked for a snapshot, once in ten minutes") {
    var now = 0L
    val directory = new Directory(10000, () => now)
    Seq("1", "2").foreach(directory.executorJoined(_, "host", 4))
    Seq("1", "2").foreach(report(directory, _, 0))
    def asked(file: Long): Seq[String] = {
      val scan = directory.scan(Seq("a"), isCaseSensitive = true)
      scan.rowGroups(file)
      scan.snapshotsToAsk()
    }
    assert(asked(1).isEmpty)
    for (n <- 1 to 100) report(directory, "1", n, added(n, 0, 3))
    assert(asked(100).isEmpty)
    assert(asked(1) == Seq("1"))
    now += 599L * 1000 * 1000 * 1000
    assert(asked(1).isEmpty)
    now += 1L * 1000 * 1000 * 1000
    assert(asked(1) == Seq("1"))
    now += 601L * 1000 * 1000 * 1000
    report(directory, "1", 0, added(1, 0, 3))
    assert(asked(2).isEmpty)
    directory.executorLost("1")
    directory.executorJoined("1", "host", 4)
    assert(asked(1) == Seq("1"))
  }

  test("few executors are asked for a snapshot at a time") {
    val directory = withExecutors((1 to 25).map(_.toString): _*)
    val scan = directory.scan(Seq("a"), isCaseSensitive = true)
    assert(scan.snapshotsToAsk().isEmpty)
    scan.rowGroups(7)
    val asked = Seq.fill(4)(scan.snapshotsToAsk())
    assert(asked.map(_.length) == Seq(10, 10, 5, 0))
    assert(asked.flatten.toSet == (1 to 25).map(_.toString).toSet)
  }

  test("bytes held, and held twice, are counted once") {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(7, 0, 1, 2))
    report(directory, "2", 0, added(7, 1, 2, 3))
    report(directory, "3", 0, added(7, 2))
    def bytes = (directory.totals().heldBytes, directory.totals().heldTwiceBytes)
    assert(bytes == ((15, 6)))
    directory.executorLost("2")
    assert(bytes == ((7, 4)))
  }

  test("room is expected of a lost executor until another joins, or for some minutes") {
    var now = 0L
    val directory = new Directory(limit, () => now)
    def expected = directory.scan(Nil, isCaseSensitive = true).expectedRoomBytes
    Seq("1", "2", "3").foreach(directory.executorJoined(_, "host", 4))
    Seq("1", "2").foreach(report(directory, _, 0))
    Seq("1", "2", "3").foreach(directory.executorLost)
    assert(expected == 2000)
    directory.executorJoined("4", "host", 4)
    directory.executorJoined("4", "host", 4)
    assert(expected == 1000)
    now += 301L * 1000 * 1000 * 1000
    assert(expected == 0)
  }

  test("an executor is late that joins when others hold something") {
    val directory = withExecutors("1", "2")
    report(directory, "1", 0, added(7, 0))
    directory.executorJoined("3", "host", 4)
    directory.executorJoined("2", "host", 4)
    val executors = directory.scan(Nil, isCaseSensitive = true).executors
    assert(executors.filter(_.isLate).map(_.id).toSeq == Seq("3"))
  }

  test("the load rate is the average of the live executors that know theirs") {
    val directory = withExecutors("1", "2", "3")
    assert(directory.loadBytesPerSecond === None)
    for ((id, rate) <- Seq("1" -> 100.0, "2" -> 0.0, "3" -> 300.0)) {
      directory.accept(ResidencyDelta(id, 0, 1, Nil, 1000, 0, rate))
    }
    assert(directory.loadBytesPerSecond === Some(200.0))
    directory.executorLost("1")
    assert(directory.loadBytesPerSecond === Some(300.0))
  }

  test("reports, losses, plans and totals from many threads") {
    val directory = withExecutors("0", "1", "2", "3")
    val rounds = 300
    val reporting = (0 until 4).map { n =>
      new FutureTask[Unit](() =>
        for (round <- 0 until rounds) {
          assert(report(directory, n.toString, round, added(round % 50, n)).isAccepted)
          directory.executorJoined(s"x$n-$round", "host", 4)
          report(directory, s"x$n-$round", 0, added(round % 50, 5))
          directory.executorLost(s"x$n-$round")
        })
    }
    val planning = new FutureTask[Unit](() =>
      while (!reporting.forall(_.isDone)) {
        val scan = directory.scan(Seq("a", "b"), isCaseSensitive = false)
        for (file <- 0L until 50L; rowGroup <- scan.rowGroups(file).toSeq.flatten) {
          val holders = rowGroup.holdings.map(_.executor).toSeq
          assert(
            holders == holders.distinct.sorted && holders.forall(scan.executors.indices.contains))
        }
        assert(directory.totals().files <= 50)
      })
    val threads = (planning +: reporting).map(new Thread(_))
    threads.foreach(_.start())
    (planning +: reporting).foreach(_.get(60, TimeUnit.SECONDS))
    val totals = directory.totals()
    assert(totals.executors.map(_.chunks) == Seq.fill(4)(50))
    assert(totals.heldBytes == 50 * (1 + 2 + 4 + 8) && totals.heldTwiceBytes == 0)
  }

  test("a lost executor's room is expected back, a released one's is not") {
    val directory = withExecutors("1", "2")
    Seq("1", "2").foreach(report(directory, _, 0))
    directory.executorReleased("1")
    assert(directory.scan(Nil, isCaseSensitive = true).expectedRoomBytes === 0)
    directory.executorLost("2")
    val scan = directory.scan(Nil, isCaseSensitive = true)
    assert(scan.expectedRoomBytes === 1000)
    assert(scan.executors.isEmpty)
  }

  test("an executor that runs no queries is known, but named by no plan, nor missed") {
    val directory = withExecutors("1")
    directory.executorJoined("2", "host", 4, runsQueries = false)
    assert(report(directory, "2", 0, added(7, 0)).isAccepted)
    assert(directory.totals().executors.map(_.chunks) === Seq(0, 1))
    def scan = directory.scan(Seq("a"), isCaseSensitive = true)
    assert(scan.executors.map(_.id).toSeq === Seq("1"))
    assert(scan.rowGroups(7).get.forall(_.holdings.isEmpty))
    directory.executorLost("2")
    assert(scan.expectedRoomBytes === 0)
  }
}
