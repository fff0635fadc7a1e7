package io.oap.spark.ui

import java.util.{Comparator, Locale}

import scala.jdk.CollectionConverters._
import scala.xml.Node

import io.oap.spark.status.{Advice, PoolReport, ReaderTotals, ScanReport}
import io.oap.spark.status.CacheSnapshot._

/** The tables of the tab, with the meaning of their columns. */
private object StatusTables {
  import StatusColumn._

  val executors = new StatusTable[ExecutorStatus](
    "executors",
    "Executors",
    "Used",
    Seq(
      StatusColumn[ExecutorStatus](
        "Executor ID",
        "",
        Comparator.comparingInt[ExecutorStatus](_.report.executor.length)
          .thenComparing(byText[ExecutorStatus](_.report.executor)),
        status =>
          <td>{status.report.executor}</td>
      ),
      text[ExecutorStatus]("Host")(_.report.host),
      StatusColumn[ExecutorStatus](
        "State",
        "open; not used yet: no task has wanted the cache; off: it reads files as Spark alone does",
        byText(state),
        status =>
          <td title={Option(status.report.why).getOrElse("")}>{state(status)}{why(status)}</td>
      ),
      text[ExecutorStatus]("Medium", "Where the pool lies")(pool(_).fold("")(_.medium)),
      bytes[ExecutorStatus]("Capacity")(pool(_).fold(0L)(_.capacityBytes)),
      StatusColumn[ExecutorStatus](
        "Used",
        "Bytes of the pool that belong to column chunks",
        Comparator.comparingLong[ExecutorStatus](pool(_).fold(0L)(_.usedBytes)),
        used
      ),
      bytes[ExecutorStatus](
        "Pinned",
        "Bytes of column chunks that may not leave: in use, or pinned")(
        pool(_).fold(0L)(_.pinnedBytes)),
      number[ExecutorStatus]("Chunks", "Column chunks held")(pool(_).fold(0L)(_.chunks))
    ) ++ readers[ExecutorStatus](_.report.readers) ++ Seq(
      optional[ExecutorStatus]("Load Rate", "Read from files in a second that one task spent so")(
        status => Option(status.report.readers.loadRate).map(_.doubleValue))(rate),
      number[ExecutorStatus]("Evictions", "Column chunks that had to leave the pool")(
        pool(_).fold(0L)(_.evictions))
    )
  )

  val advice = new StatusTable[Advice](
    "advice",
    "Other Capacities",
    "Capacity",
    Seq(
      bytes[Advice]("Capacity", "Of all executors together, each with that part of its own")(
        _.capacity),
      optional[Advice]("Hit Ratio", "By bytes, of what was asked for lately")(_.hitRatio)(percent),
      text[Advice]("Advice")(_.text)
    )
  )

  val tables = new StatusTable[TableStatus](
    "tables",
    "Tables",
    "From Pool",
    text[TableStatus]("Table")(_.table) +: number[TableStatus]("Scans")(_.scans) +:
      readers[TableStatus](_.readers) :+ date[TableStatus]("Last Scan")(_.lastMillis)
  )

  val columns = new StatusTable[ColumnStatus](
    "columns",
    "Columns",
    "Scans",
    Seq(
      text[ColumnStatus]("Table")(_.table),
      text[ColumnStatus]("Column")(_.column),
      number[ColumnStatus]("Scans", "Scans that had it among their columns")(_.scans),
      date[ColumnStatus]("Last Scan")(_.lastMillis)
    )
  )

  /** @param base what links begin with */
  def scans(base: String) = new StatusTable[ScanReport](
    "scans",
    "Last Scans",
    "Ended",
    Seq(
      StatusColumn[ScanReport](
        "SQL Execution",
        "The SQL execution, and its scans alone",
        Comparator.comparingLong[ScanReport](_.execution),
        scan =>
          <td>{executionLink(base, scan.execution)} ({scansLink(base, scan.execution)})</td>
      ),
      date[ScanReport]("Ended")(_.endedMillis),
      text[ScanReport]("Table")(_.table),
      text[ScanReport]("Columns")(scan => shortened(scan.columns.asScala.toSeq))
    ) ++ readers[ScanReport](_.readers()) ++ Seq(
      text[ScanReport]("Causes", "Why chunks were missed or bypassed")(causes),
      number[ScanReport]("Rows", "Rows that the scan gave")(_.metric("numOutputRows")),
      shown[ScanReport]("Load Time", "Time that its tasks spent reading files, together")(
        _.metric("loadTime"))(io.oap.spark.internals.SparkUi.duration(_))
    )
  )

  /** Words for the metrics that say why chunks were missed or bypassed. */
  private val Causes = Seq(
    "missesCold" -> "cold",
    "missesEvicted" -> "evicted",
    "missesChangedFile" -> "changed file",
    "bypassesNotAdmitted" -> "not admitted",
    "bypassesTooLarge" -> "too large",
    "bypassesPinnedFull" -> "pinned full",
    "bypassesOther" -> "other"
  )

  private def causes(scan: ScanReport): String =
    Causes.map { case (metric, cause) => (scan.metric(metric), cause) }
      .collect { case (count, cause) if count > 0 => s"$count $cause" }
      .mkString(", ")

  def executionLink(base: String, id: Long): Node =
    <a href={s"$base/SQL/execution/?id=$id"}>{id.toString}</a>

  private def scansLink(base: String, id: Long): Node =
    <a href={s"$base/${CacheTab.Prefix}/execution/?id=$id"}>scans</a>

  def rate(megabytes: Double): String =
    String.format(Locale.ROOT, "%.1f MB/s", Double.box(megabytes))

  private def readers[T](of: T => ReaderTotals): Seq[StatusColumn[T]] = Seq(
    optional[T]("Hit Ratio", "Part of the column chunks asked for that were in a pool")(row =>
      Option(of(row).hitRatio).map(_.doubleValue))(percent),
    number[T]("Hits", "Column chunks found in a pool")(of(_).hits),
    number[T]("Misses", "Column chunks loaded into a pool")(of(_).misses),
    number[T]("Bypasses", "Column chunks read around the pools")(of(_).bypasses),
    bytes[T]("From Pool", "Bytes taken from the pools")(of(_).bytesFromPool),
    bytes[T]("From Files", "Bytes read from files")(of(_).bytesFromFile)
  )

  private def pool(status: ExecutorStatus): Option[PoolReport] =
    Option(status.report.pool)

  private def state(status: ExecutorStatus): String =
    if (status.isLive) status.report.state else "gone"

  private def why(status: ExecutorStatus): String =
    if (status.isLive) Option(status.report.why).fold("")(why => s": $why") else ""

  private def used(status: ExecutorStatus): Node = {
    val (used, capacity) = pool(status).fold((0L, 0L))(pool => (pool.usedBytes, pool.capacityBytes))
    val share = if (capacity > 0) math.min(100.0, used * 100.0 / capacity) else 0.0
    <td style="min-width: 90px;">
      <div class="progress">
        <span style="text-align:center; position:absolute; width:100%;">
          {io.oap.spark.internals.SparkUi.bytes(used)}
        </span>
        <div class="progress-bar progress-completed" style={s"width: $share%"}></div>
      </div>
    </td>
  }

  private val MostShown = 12

  private def shortened(names: Seq[String]): String =
    names.take(MostShown).mkString(", ") +
      (if (names.size > MostShown) s" and ${names.size - MostShown} more" else "")
}
