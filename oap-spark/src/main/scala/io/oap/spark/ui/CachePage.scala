package io.oap.spark.ui

import scala.jdk.CollectionConverters._
import scala.xml.{Node, NodeSeq}

import jakarta.servlet.http.HttpServletRequest

import io.oap.cache.stats.Figure
import io.oap.cache.stats.Figure._
import io.oap.spark.internals.SparkUi
import io.oap.spark.status.{Advice, CacheSnapshot}

/** The first page of the tab: sums, what happened over time, executors, tables, columns, scans. */
private final class CachePage(snapshot: () => CacheSnapshot) extends SparkUi.Page {
  override def title(): String = "Column Cache"

  override def content(request: HttpServletRequest, base: String): Seq[Node] = {
    val now = snapshot()
    val path = s"$base/${CacheTab.Prefix}/"
    summary(now) ++ CachePlots.of(now) ++
      StatusTables.executors.of(request, path, now.executors) ++
      StatusTables.advice.of(
        request,
        path,
        Advice.of(now).filter(_.executor == Advice.All).asJava) ++
      StatusTables.tables.of(request, path, now.tables) ++
      StatusTables.columns.of(request, path, now.columns) ++
      StatusTables.scans(base).of(request, path, now.scans)
  }

  private def summary(now: CacheSnapshot): NodeSeq = {
    val (live, gone) = now.executors.asScala.toSeq.partition(_.isLive)
    val states = live.groupBy(_.report.state).toSeq.sortBy(_._1).map { case (state, those) =>
      s"${those.size} $state"
    } ++ (if (gone.isEmpty) None else Some(s"${gone.size} gone"))
    // Of an application that has ended, as it was shortly before.
    val totals =
      if (live.isEmpty) now.samples.asScala.lastOption.getOrElse(now.totals) else now.totals
    val figures = totals.figures
    def bytes(figure: Figure) = SparkUi.bytes(figures.get(figure))
    <div>
      <ul class="list-unstyled">
        {entry("Executors", states.mkString(", "))}
        {
      entry(
        "Pools",
        s"${bytes(USED_BYTES)} used of ${bytes(CAPACITY_BYTES)}, " +
          s"${bytes(PINNED_BYTES)} in use or pinned; ${figures.get(CHUNKS)} column chunks"
      )
    }
        {
      entry(
        "Hit Ratio",
        Option(figures.hitRatio).fold("")(StatusColumn.percent(_) + ": ") +
          Seq(HITS, MISSES, BYPASSES).map(f => s"${figures.get(f)} ${f.column}").mkString(", ")
      )
    }
        {entry("Bytes from Pool", bytes(BYTES_FROM_POOL))}
        {
      entry(
        "Bytes from Files",
        bytes(BYTES_FROM_FILE) +
          Option(figures.loadRate).fold("")(r => s", ${StatusTables.rate(r)} for each task"))
    }
        {entry("Evictions", figures.get(EVICTIONS).toString)}
      </ul>
    </div>
  }

  private def entry(name: String, value: String): Node = <li><strong>{name}:</strong> {value}</li>
}

/** The cached scans of one SQL execution. */
private final class ExecutionScansPage(snapshot: () => CacheSnapshot) extends SparkUi.Page {
  override def title(): String = "Column Cache: Scans of a SQL Execution"

  override def content(request: HttpServletRequest, base: String): Seq[Node] =
    CacheTab.number(request, "id") match {
      case None => <p>The address lacks the id of an execution: ?id=</p>
      case Some(id) =>
        val scans = snapshot().scans.asScala.filter(_.execution == id).asJava
        <ul class="list-unstyled">
          <li><strong>SQL Execution:</strong> {StatusTables.executionLink(base, id)}</li>
        </ul> ++
          StatusTables.scans(base).of(request, s"$base/${CacheTab.Prefix}/execution/", scans)
    }
}
