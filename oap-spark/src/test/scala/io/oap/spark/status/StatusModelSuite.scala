package io.oap.spark.status

import java.util.{List => JavaList, Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.stats.Figure
import io.oap.spark.status.CacheSnapshot._

/** What events add up to, against sums over a list of all events; and its bounds. */
class StatusModelSuite extends AnyFunSuite {
  private val seed: Long = java.lang.Long.getLong("oap.seed", System.nanoTime())

  private def figures(of: JavaList[Figure])(value: => Long): Figures =
    Figures.ofJson(of.asScala.map(_.field -> Long.box(value)).toMap[String, AnyRef].asJava)

  private def readers(random: Random, at: Figures): Figures =
    at.plus(figures(Figure.OF_READERS)(random.nextInt(1000).toLong))

  private def pool(random: Random, evictions: Long): PoolReport = new PoolReport(
    null,
    "dram",
    "",
    JavaMap.of(),
    figures(Figure.OF_POOL)(random.nextInt(1000).toLong).gauges.plus(
      figures(JavaList.of(Figure.EVICTIONS))(evictions)),
    "1",
    null
  )

  private def report(id: String, readers: Figures, pool: PoolReport): ExecutorReport =
    new ExecutorReport(id, "host", ExecutorReport.OPEN, null, pool, readers, null)

  private def scan(i: Int, table: String, columns: Seq[String], hits: Long = 1): ScanReport =
    new ScanReport(
      i,
      i,
      table,
      columns.asJava,
      JavaMap.of("chunksHit", hits, "bytesFromFile", 2 * hits))

  test("executors and totals are those of a naive model") {
    withClue(s"seed $seed: ") {
      val random = new Random(seed)
      val model = new StatusModel
      var live = Map.empty[String, Option[ExecutorReport]]
      var last = Map.empty[String, ExecutorReport]
      for (step <- 1 to 3000) {
        val id = random.nextInt(30).toString
        random.nextInt(10) match {
          case 0 =>
            model.executorAdded(id, "host")
            // One that is gone does not come back: Spark gives each an id of its own.
            if (!live.contains(id) && !last.contains(id)) live += id -> None
          case 1 =>
            model.executorRemoved(id)
            if (live.contains(id)) {
              if (!last.contains(id)) last += id -> ExecutorReport.without(id, "host", "", null)
              live -= id
            }
          case n if n > 2 && !live.contains(id) && !last.contains(id) =>
            model.executorAdded(id, "host")
            live += id -> None
          case _ if live.contains(id) =>
            val before = last.get(id)
            val evictions =
              before.flatMap(r => Option(r.pool)).fold(0L)(_.figures.get(Figure.EVICTIONS))
            val now = report(
              id,
              readers(random, before.fold(Figures.NONE)(_.readers)),
              if (evictions == 0 && random.nextInt(5) == 0) null
              else pool(random, evictions + random.nextInt(5)))
            model.executorSampled(step, now)
            live += id -> Some(now)
            last += id -> now
          case _ =>
            // What it told last may come after the event that it has gone, or without any event.
            val before = last.get(id)
            val late = report(
              id,
              readers(random, before.fold(Figures.NONE)(_.readers)),
              before.fold(Option(pool(random, 1)))(was => Option(was.pool))
                .map(was => pool(random, was.figures.get(Figure.EVICTIONS) + random.nextInt(5)))
                .orNull
            )
            model.executorSampled(step, late)
            last += id -> late
        }
        val snapshot = model.snapshot()
        val executors = snapshot.executors.asScala
        assert(executors.filter(_.isLive).map(_.report.executor).toSet === live.keySet)
        for (status <- executors if status.isLive)
          assert(live(status.report.executor).forall(_ === status.report))
        assertTotals(snapshot.totals, live.values.flatten.toSeq, last.values.toSeq)
      }
    }
  }

  private def assertTotals(
      totals: Sample,
      live: Seq[ExecutorReport],
      ever: Seq[ExecutorReport]): Unit = {
    val pools = live.flatMap(r => Option(r.pool))
    assert(totals.executors === live.size)
    for (figure <- Figure.OF_POOL.asScala) {
      val of = if (figure.isCounter) ever.flatMap(r => Option(r.pool)) else pools
      assert(totals.figures.get(figure) === of.map(_.figures.get(figure)).sum, figure)
    }
    for (figure <- Figure.OF_READERS.asScala)
      assert(totals.figures.get(figure) === ever.map(_.readers.get(figure)).sum, figure)
  }

  private def read(hits: Long): Figures = figures(JavaList.of(Figure.HITS))(hits)

  test("an executor whose events a compacted log has lost counts as one that has gone") {
    val model = new StatusModel
    val pool = new PoolReport(
      null,
      "dram",
      "",
      JavaMap.of(),
      figures(JavaList.of(Figure.CAPACITY_BYTES))(100),
      "1",
      null)
    model.executorSampled(1000, report("1", read(3), pool))
    model.executorSampled(2000, report("1", read(5), pool))
    model.executorAdded("2", "host")
    model.executorSampled(3000, report("2", read(7), pool))
    val snapshot = model.snapshot()
    val (live, gone) = snapshot.executors.asScala.partition(_.isLive)
    assert(live.map(_.report.executor) === Seq("2"))
    assert(gone.map(_.report.executor) === Seq("1"))
    assert(model.executorCount === 1 && snapshot.totals.executors === 1)
    assert(snapshot.totals.figures.get(Figure.HITS) === 12)
    assert(snapshot.totals.figures.get(Figure.CAPACITY_BYTES) === 100)
  }

  test("a pool that executors have together counts once, what each does with it for each") {
    val model = new StatusModel
    val told = Seq(
      Figure.CAPACITY_BYTES,
      Figure.USED_BYTES,
      Figure.PINNED_BYTES,
      Figure.EVICTIONS)
    def tell(id: String, name: String, hits: Long, ofPool: Long*): Unit = {
      val figures = Figures.ofJson(
        told.map(_.field).zip(ofPool.map(Long.box)).toMap[String, AnyRef].asJava)
      val pool = new PoolReport(name, "dram", "/p", JavaMap.of(), figures, "1", null)
      model.executorSampled(1000, report(id, read(hits), pool))
    }
    def sums = (told :+ Figure.HITS).map(model.sums.figures.get(_))
    Seq("1", "2", "3").foreach(model.executorAdded(_, "host"))
    tell("1", "/p", 3, 100, 40, 20, 100)
    assert(sums === Seq(100, 40, 20, 100, 3))
    tell("2", "/p", 4, 100, 50, 8, 3)
    assert(sums === Seq(100, 50, 28, 103, 7))
    tell("1", "/p", 4, 100, 50, 30, 100)
    assert(sums === Seq(100, 50, 38, 103, 8), "as often as they tell it")
    tell("3", null, 1, 100, 7, 5, 2)
    assert(sums === Seq(200, 57, 43, 105, 9))
    tell("1", "/p", 5, 100, 60, 10, 109)
    assert(sums === Seq(200, 67, 23, 114, 10) && model.sums.executors === 3)
    model.executorRemoved("1")
    assert(sums === Seq(200, 67, 13, 114, 10), "the other one has the pool, not the pins")
    tell("1", "/p", 6, 100, 60, 10, 110)
    assert(sums === Seq(200, 67, 13, 115, 11), "it came late")
    model.executorRemoved("2")
    assert(sums === Seq(100, 7, 5, 115, 11), "what they have evicted is of the past")
    tell("3", "/q", 1, 100, 8, 6, 4)
    assert(sums === Seq(100, 8, 6, 117, 11), "it has another pool now")
  }

  test("what an executor told before it went counts once, however many went after it") {
    val model = new StatusModel
    val ids = (1 to 2 * StatusModel.MostGone).map(_.toString)
    ids.foreach(model.executorAdded(_, "host"))
    ids.foreach(id => model.executorSampled(1000, report(id, read(1), null)))
    ids.foreach(model.executorRemoved)
    for (id <- ids) {
      model.executorSampled(2000, report(id, read(3), null))
      model.executorAdded(id, "host")
    }
    assert(model.executorCount === 0 && model.sums.executors === 0)
    assert(model.sums.figures.get(Figure.HITS) === 3 * ids.size)
    assert(model.snapshot().executors.size === StatusModel.MostGone)
  }

  test("scans, tables and columns are those of a naive model") {
    withClue(s"seed $seed: ") {
      val random = new Random(seed)
      val model = new StatusModel
      val all = (1 to 2500).map { i =>
        val columns = random.shuffle(Seq("a", "b", "c")).take(random.nextInt(3))
        scan(i, s"t${random.nextInt(20)}", columns, random.nextInt(100))
      }
      all.foreach(model.scanEnded)
      val snapshot = model.snapshot()
      assert(snapshot.scans.asScala.toSeq === all.takeRight(StatusModel.MostScans))
      val tables = all.groupBy(_.table).map { case (table, scans) =>
        new TableStatus(
          table,
          scans.size,
          scans.last.endedMillis,
          scans.map(_.readers()).foldLeft(Figures.NONE)(_ plus _))
      }
      assert(snapshot.tables.asScala.toSeq === tables.toSeq.sortBy(-_.lastMillis))
      val columns = for {
        (table, scans) <- all.groupBy(_.table).toSeq
        name <- Seq("a", "b", "c")
        having = scans.filter(_.columns.contains(name))
        if having.nonEmpty
      } yield new ColumnStatus(table, name, having.size, having.last.endedMillis)
      assert(snapshot.columns.asScala.toSet === columns.toSet)
      val times = snapshot.columns.asScala.map(_.lastMillis)
      assert(times === times.sorted.reverse)
    }
  }

  test("it stays within bounds, and keeps what came last") {
    val model = new StatusModel
    for (i <- 1 to 25000) {
      model.executorAdded(i.toString, "host")
      if (i % 2 == 0) model.executorRemoved(i.toString)
      model.scanEnded(scan(i, s"t$i", Seq("a", "b")))
      model.executorSampled(i * 10000L, report("1", Figures.NONE, null))
    }
    val snapshot = model.snapshot()
    val (live, gone) = snapshot.executors.asScala.partition(_.isLive)
    assert(live.size === 12500)
    assert(gone.size === StatusModel.MostGone && gone.last.report.executor === "25000")
    assert(snapshot.tables.size === StatusModel.MostTables)
    assert(snapshot.tables.get(0).table === "t25000")
    assert(snapshot.columns.size === StatusModel.MostColumns)
    assert(snapshot.scans.size === StatusModel.MostScans)
    assert(snapshot.samples.size <= StatusModel.MostSamples)
    assert(snapshot.samples.size > StatusModel.MostSamples / 2 - 2)
    for (i <- 25001 to 60000) model.executorAdded(i.toString, "host")
    assert(model.snapshot().executors.asScala.count(_.isLive) === StatusModel.MostLive)
  }

  test("samples keep all of the past, evenly, and what came last") {
    withClue(s"seed $seed: ") {
      val random = new Random(seed)
      val samples = new Samples(50, 100)
      var at = 1000000L
      for (i <- 1 to 5000) {
        at += random.nextInt(300)
        samples.add(new Sample(at, i, Figures.NONE))
        val times = samples.all.asScala.map(_.atMillis).toSeq
        assert(times.size <= 50 && times.last === at)
        assert(samples.all.asScala.last.executors === i)
        assert(times === times.sorted.distinct)
        if (i == 5000) {
          val gaps = times.zip(times.tail).map { case (a, b) => b - a }
          val width = (at - 1000000L) / 25
          assert(gaps.forall(_ <= 2 * width + 600) && times.size >= 24)
          assert(times.head - 1000000L <= 2 * width)
        }
      }
    }
  }

  test("a clock that is set back loses no sample") {
    val model = new StatusModel
    for ((at, i) <- Seq(10000L, 50000L, 20000L, 60000L).zipWithIndex) {
      model.executorAdded(i.toString, "host")
      model.executorSampled(at, report(i.toString, Figures.NONE, null))
    }
    val samples = model.snapshot().samples.asScala
    assert(samples.map(_.atMillis) === Seq(10000L, 50000L, 60000L))
    assert(samples.map(_.executors) === Seq(1, 3, 4))
  }
}
