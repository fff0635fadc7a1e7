package io.oap.spark.status

import java.util.{ArrayDeque, ArrayList, LinkedHashMap, List => JavaList, Map => JavaMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.oap.spark.status.CacheSnapshot._

/**
 * What events on the column cache add up to, within bounds: of executors that are gone, tables,
 * columns and scans the last ones are kept, and of the past as many samples as a plot can show. For
 * one thread.
 */
private final class StatusModel {
  import StatusModel._

  private val live = new LinkedHashMap[String, ExecutorStatus]
  private val gone = new Last[String, ExecutorStatus](MostGone)

  /** What executors that are gone have in the totals, also many of which nothing else is kept. */
  private val counted = new Last[String, Figures](MostCounted)
  private val samples = new Samples(MostSamples, LeastSampleMillis)
  private val tables = new Last[String, TableStatus](MostTables)
  private val columns = new Last[(String, String), ColumnStatus](MostColumns)
  private val scans = new ArrayDeque[ScanReport]
  private var totals = new Sample(0, 0, Figures.NONE)

  /** By name: what one of the executors that have it together has told last of all of it. */
  private val sharedPools = mutable.HashMap.empty[String, SharedPool]

  /** An executor that is known already goes on. */
  def executorAdded(id: String, host: String): Unit =
    if (live.size < MostLive && !counted.containsKey(id)) {
      live.putIfAbsent(
        id,
        new ExecutorStatus(true, 0, ExecutorReport.without(id, host, ExecutorReport.UNUSED, null)))
    }

  /** What was counted there stays in the totals. */
  def executorRemoved(id: String): Unit = Option(live.remove(id)).foreach { status =>
    totals = new Sample(
      totals.atMillis,
      totals.executors - (if (status.sampledMillis > 0) 1 else 0),
      totals.figures.minus(alone(status.report).gauges))
    leavePool(status.report)
    addGone(status.sampledMillis, status.report)
  }

  private def addGone(atMillis: Long, report: ExecutorReport): Unit = {
    gone.put(report.executor, new ExecutorStatus(false, atMillis, report))
    counted.put(report.executor, counters(report))
  }

  /**
   * An executor that is not known counts as one that has gone: a compacted event log has the samples
   * of such executors, and no event that they came or went.
   */
  def executorSampled(atMillis: Long, report: ExecutorReport): Unit = {
    val id = report.executor
    Option(live.get(id)) match {
      case Some(before) =>
        totals = new Sample(
          // A clock may be set back.
          math.max(atMillis, totals.atMillis),
          totals.executors + (if (before.sampledMillis > 0) 0 else 1),
          totals.figures.minus(alone(before.report)).plus(alone(report))
        )
        if (before.report.poolName != report.poolName) leavePool(before.report)
        toldOfPool(report)
        live.put(id, new ExecutorStatus(true, atMillis, report))
        samples.add(totals)
      // What an executor told last may come after the event that it has gone.
      case None =>
        val before = counted.getOrDefault(id, Figures.NONE)
        totals = new Sample(
          math.max(atMillis, totals.atMillis),
          totals.executors,
          totals.figures.minus(before).plus(counters(report)))
        addGone(atMillis, report)
    }
  }

  private def counters(report: ExecutorReport): Figures =
    alone(report).minus(alone(report).gauges)

  /** What an executor adds to the totals whichever others there are. */
  private def alone(report: ExecutorReport): Figures =
    if (report.isPoolShared) report.figures.minus(report.figures.ofWholePool) else report.figures

  private def toldOfPool(report: ExecutorReport): Unit = if (report.isPoolShared) {
    val before = sharedPools.getOrElse(report.poolName, SharedPool(Set.empty, Figures.NONE))
    val now = SharedPool(before.executors + report.executor, report.figures.ofWholePool)
    addToTotals(now.figures.minus(before.figures))
    sharedPools(report.poolName) = now
  }

  /** The pool is no more in the totals when the last executor that has it has gone. */
  private def leavePool(report: ExecutorReport): Unit =
    if (report.isPoolShared) for (pool <- sharedPools.get(report.poolName)) {
      val rest = pool.executors - report.executor
      if (rest.nonEmpty) sharedPools(report.poolName) = pool.copy(executors = rest)
      else {
        sharedPools.remove(report.poolName)
        addToTotals(Figures.NONE.minus(pool.figures))
      }
    }

  private def addToTotals(figures: Figures): Unit =
    totals = new Sample(totals.atMillis, totals.executors, totals.figures.plus(figures))

  def scanEnded(scan: ScanReport): Unit = {
    scans.addLast(scan)
    if (scans.size > MostScans) {
      scans.removeFirst()
    }
    val table = Option(tables.remove(scan.table))
      .getOrElse(new TableStatus(scan.table, 0, 0, Figures.NONE))
    tables.put(
      scan.table,
      new TableStatus(
        scan.table,
        table.scans + 1,
        scan.endedMillis,
        table.readers.plus(scan.readers())))
    scan.columns.forEach { name =>
      val before = Option(columns.remove((scan.table, name))).fold(0L)(_.scans)
      columns.put(
        (scan.table, name),
        new ColumnStatus(scan.table, name, before + 1, scan.endedMillis))
    }
  }

  /** Over all executors, so far. */
  def sums: Sample = totals

  def executorCount: Int = live.size

  /** A copy; the elements never change. */
  def snapshot(): CacheSnapshot = {
    val executors = new ArrayList[ExecutorStatus](gone.values)
    executors.addAll(live.values)
    new CacheSnapshot(
      KEY,
      totals,
      executors,
      samples.all,
      newestFirst(tables),
      newestFirst(columns),
      new ArrayList(scans))
  }

  private def newestFirst[V](last: Last[_, V]): JavaList[V] =
    last.values.asScala.toSeq.reverse.asJava
}

private object StatusModel {

  /** More executors than that have no application; some kilobytes each. */
  val MostLive = 20000

  val MostGone = 200

  /** Each takes about a kilobyte. */
  val MostCounted = 20000
  val MostScans = 1000
  val MostTables = 2000
  val MostColumns = 10000
  val MostSamples = 720
  val LeastSampleMillis = 2000L

  /** A pool that executors have together, with the figures of all of it. */
  private final case class SharedPool(executors: Set[String], figures: Figures)

  /** Keeps so many entries, those that were put last, in that order. */
  private final class Last[K, V](most: Int) extends LinkedHashMap[K, V] {
    override protected def removeEldestEntry(eldest: JavaMap.Entry[K, V]): Boolean = size > most
  }
}
