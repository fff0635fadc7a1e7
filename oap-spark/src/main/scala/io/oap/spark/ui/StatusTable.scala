package io.oap.spark.ui

import java.util.{Comparator, List => JavaList}

import scala.jdk.CollectionConverters._
import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest

import io.oap.spark.internals.SparkUi

/** A column of a [[StatusTable]]: heading, meaning, order and content of its cells. */
private final case class StatusColumn[T](
    title: String,
    tooltip: String,
    order: Comparator[T],
    cell: T => Node)

/**
 * A table under a heading that folds it away, sorted and paged on the server.
 *
 * @param tag its name on the page
 * @param sortedBy title of the column by which it is sorted at first, descending
 */
private final class StatusTable[T](
    tag: String,
    title: String,
    sortedBy: String,
    columns: Seq[StatusColumn[T]]) {

  /** @param path of the page it stands on */
  def of(request: HttpServletRequest, path: String, rows: JavaList[T]): Seq[Node] = {
    val folded = s"aggregated-$tag"
    <span id={tag} class={s"collapse-$folded collapse-table"}
          onClick={s"collapseTable('collapse-$folded','$folded')"}>
      <h4>
        <span class="collapse-table-arrow arrow-open"></span>
        <a>{title} ({rows.size})</a>
      </h4>
    </span> ++
      <div class={s"$folded collapsible-table"}>
        {if (rows.isEmpty) <p>None yet.</p> else page(request, path, rows)}
      </div>
  }

  private def page(
      request: HttpServletRequest,
      path: String,
      rows: JavaList[T]): Seq[Node] =
    try {
      SparkUi.table[T](
        request,
        path,
        tag,
        sortedBy,
        columns.map(c => new SparkUi.Column[T](c.title, c.tooltip, c.order)).asJava,
        rows,
        row => <tr>{columns.map(_.cell(row))}</tr>
      )
    } catch {
      case e: IllegalArgumentException =>
        <div class="alert alert-danger">This table cannot be shown: {e.getMessage}</div>
    }
}

private object StatusColumn {

  /** A column of numbers. */
  def number[T](title: String, tooltip: String = "")(value: T => Long): StatusColumn[T] =
    shown(title, tooltip)(value)(_.toString)

  def bytes[T](title: String, tooltip: String = "")(value: T => Long): StatusColumn[T] =
    shown(title, tooltip)(value)(SparkUi.bytes(_))

  def date[T](title: String, tooltip: String = "")(value: T => Long): StatusColumn[T] =
    shown(title, tooltip)(value)(at => if (at == 0) "" else SparkUi.date(at))

  def shown[T](title: String, tooltip: String)(value: T => Long)(
      show: Long => String): StatusColumn[T] =
    StatusColumn(
      title,
      tooltip,
      Comparator.comparingLong[T](value(_)),
      row => <td>{show(value(row))}</td>)

  /** A column of numbers that may be missing; what is missing comes first. */
  def optional[T](title: String, tooltip: String = "")(value: T => Option[Double])(
      show: Double => String): StatusColumn[T] =
    StatusColumn(
      title,
      tooltip,
      Comparator.comparingDouble[T](value(_).getOrElse(-1)),
      row => <td>{value(row).fold("")(show)}</td>)

  def text[T](title: String, tooltip: String = "")(value: T => String): StatusColumn[T] =
    StatusColumn(title, tooltip, byText(value), row => <td>{value(row)}</td>)

  def byText[T](value: T => String): Comparator[T] = (a, b) => value(a).compareTo(value(b))

  def percent(ratio: Double): String =
    String.format(java.util.Locale.ROOT, "%.1f %%", Double.box(100 * ratio))
}
