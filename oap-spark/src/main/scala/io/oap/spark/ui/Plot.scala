package io.oap.spark.ui

import scala.xml.Node

/**
 * A line of a [[Plot]].
 *
 * @param points time in milliseconds since the epoch and value, oldest first
 */
private final case class Line(name: String, colour: String, points: Seq[(Long, Double)])

/**
 * Values over time, as a drawing in the page itself: it needs no script, and stays as it is when
 * the page is saved.
 *
 * @param show a value as text
 * @param highest upper end of the axis; the largest value when it is not given
 */
private final case class Plot(
    title: String,
    lines: Seq[Line],
    show: Double => String,
    highest: Option[Double] = None) {
  import Plot._

  private val all = lines.flatMap(_.points)
  private val from = all.map(_._1).minOption.getOrElse(0L)
  private val until = math.max(from + 1, all.map(_._1).maxOption.getOrElse(0L))
  private val top = math.max(highest.getOrElse(all.map(_._2).maxOption.getOrElse(0.0)), 1e-9)

  private def x(at: Long): String = number(Left + (at - from) * (Right - Left) / (until - from))

  private def y(value: Double): String = number(Bottom - value / top * (Bottom - Top))

  def svg: Node =
    <svg viewBox={s"0 0 $Width $Height"} style="width: 100%; max-width: 620px;" role="img"
         font-size="11" fill="#555" class="oap-plot">
      <title>{title}</title>
      {legend}
      {(0 to Steps).map(step => valueMark(top * step / Steps))}
      {
      if (all.isEmpty) <text x={number(Width / 2)} y={number(Height / 2)}>no data yet</text>
      else Seq(timeMark(from, "start"), timeMark(until, "end"))
    }
      {lines.filter(_.points.nonEmpty).map(line)}
    </svg>

  private def legend: Seq[Node] =
    <text x="0" y="13" font-size="13" font-weight="bold" fill="#333">{title}</text> +:
      lines.zipWithIndex.flatMap { case (line, i) =>
        val left = Width - (lines.size - i) * LegendWidth
        <rect x={number(left)} y="4" width="10" height="10" fill={line.colour}/> ++
          <text x={number(left + 15)} y="13">{line.name}</text>
      }

  private def valueMark(value: Double): Seq[Node] =
    <line x1={number(Left)} x2={number(Right)} y1={y(value)} y2={y(value)} stroke="#ddd"/> ++
      <text x={number(Left - 5)} y={y(value - top * 0.025)} text-anchor="end">{show(value)}</text>

  private def timeMark(at: Long, anchor: String): Node =
    <text x={x(at)} y={number(Height - 3)} text-anchor={anchor}>{
      io.oap.spark.internals.SparkUi.date(at)
    }</text>

  private def line(line: Line): Seq[Node] = {
    val (lastTime, last) = line.points.last
    <polyline fill="none" stroke={line.colour} stroke-width="2" stroke-linejoin="round"
              points={
      line.points.map { case (at, value) => s"${x(at)},${y(value)}" }.mkString(" ")
    }/> ++
      <circle cx={x(lastTime)} cy={y(last)} r="3" fill={line.colour}>
        <title>{s"${line.name}: ${show(last)}"}</title>
      </circle>
  }
}

private object Plot {
  private val Width = 560.0
  private val Height = 200.0
  private val Left = 75.0
  private val Right = Width - 10
  private val Top = 30.0
  private val Bottom = Height - 22
  private val Steps = 4
  private val LegendWidth = 95.0

  private def number(value: Double): String =
    String.format(java.util.Locale.ROOT, "%.1f", Double.box(value))
}
