package io.oap.spark.ui

import java.util.{Comparator, Locale}

import scala.jdk.CollectionConverters._
import scala.xml.Node

import io.oap.cache.stats.{Figure, MissCause}
import io.oap.spark.internals.SparkUi
import io.oap.spark.status.{Advice, Figures, PoolReport, ScanReport}
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
      text[ExecutorStatus](
        "Pool",
        "Executors with one name here have one pool together; capacity, used bytes and chunks are " +
          "of all of it")(status =>
        if (status.report.isPoolShared) status.report.poolName else ""),
      text[ExecutorStatus]("Medium", "Where the pool lies")(pool(_).fold("")(_.medium)),
      text[ExecutorStatus](
        "Memory Nodes",
        "Memory on each memory node: of the pool, of the heap, of the rest; the last two as they " +
          "were when somebody read oap.system.executors, or spark.oap.numa.bind had them looked at"
      )(
        memoryNodes)
    ) ++ Figure.OF_POOL.asScala.filter(_.title != null).map(ofPool) ++
      readers[ExecutorStatus](_.report.readers) ++ Seq(
        optional[ExecutorStatus]("Load Rate", "Read from files in a second that one task spent so")(
          status => Option(status.report.readers.loadRate).map(_.doubleValue))(rate)
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
        _.metric("loadTime"))(SparkUi.duration(_))
    )
  )

  private def causes(scan: ScanReport): String = (for {
    cause <- MissCause.values.toSeq
    count = scan.readers().get(Figure.of(cause))
    if count > 0
  } yield s"$count ${cause.words}").mkString(", ")

  def executionLink(base: String, id: Long): Node =
    <a href={s"$base/SQL/execution/?id=$id"}>{id.toString}</a>

  private def scansLink(base: String, id: Long): Node =
    <a href={s"$base/${CacheTab.Prefix}/execution/?id=$id"}>scans</a>

  def rate(megabytes: Double): String =
    String.format(Locale.ROOT, "%.1f MB/s", Double.box(megabytes))

  private def readers[T](of: T => Figures): Seq[StatusColumn[T]] =
    optional[T]("Hit Ratio", "Part of the column chunks asked for that were in a pool")(row =>
      Option(of(row).hitRatio).map(_.doubleValue))(percent) +:
      Figure.OF_READERS.asScala.toSeq.filter(_.title != null).map(figure =>
        column[T](figure, of(_).get(figure)))

  private def ofPool(figure: Figure): StatusColumn[ExecutorStatus] = {
    val plain = column[ExecutorStatus](figure, pool(_).fold(0L)(_.figures.get(figure)))
    if (figure == Figure.USED_BYTES) plain.copy(cell = used) else plain
  }

  private def column[T](figure: Figure, value: T => Long): StatusColumn[T] =
    shown[T](figure.title, figure.meaning.capitalize)(value)(
      if (figure.unit == Figure.Unit.BYTES) SparkUi.bytes(_) else _.toString)

  private def pool(status: ExecutorStatus): Option[PoolReport] =
    Option(status.report.pool)

  private def memoryNodes(status: ExecutorStatus): String = {
    val memory = Option(status.report.memory)
    val parts = Seq(
      "pool" -> pool(status).map(_.bytesOnNodes),
      "heap" -> memory.map(_.heapOnNodes),
      "rest" -> memory.map(_.restOnNodes))
      .collect { case (name, Some(bytes)) if bytes != null => name -> bytes.asScala }
    val nodes = parts.flatMap(_._2.keys).distinct.sortBy(_.intValue)
    nodes.map { node =>
      val bytes = parts.collect {
        case (name, some) if some.contains(node) =>
          s"$name ${SparkUi.bytes(some(node))}"
      }
      s"$node: ${bytes.mkString(", ")}"
    }.mkString("; ")
  }

  private def state(status: ExecutorStatus): String =
    if (status.isLive) status.report.state else "gone"

  private def why(status: ExecutorStatus): String =
    if (status.isLive) Option(status.report.why).fold("")(why => s": $why") else ""

  private def used(status: ExecutorStatus): Node = {
    val (used, capacity) = pool(status).fold((0L, 0L))(pool =>
      (pool.figures.get(Figure.USED_BYTES), pool.figures.get(Figure.CAPACITY_BYTES)))
    val share = if (capacity > 0) math.min(100.0, used * 100.0 / capacity) else 0.0
    <td style="min-width: 90px;">
      <div class="progress">
        <span style="text-align:center; position:absolute; width:100%;">
          {SparkUi.bytes(used)}
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
