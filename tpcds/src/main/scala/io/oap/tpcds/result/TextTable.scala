package io.oap.tpcds.result

/** Rows of text, one below the other. */
object TextTable {

  /** Columns of text, the first one to the left, the others to the right. */
  def align(rows: Seq[Seq[String]]): String = {
    val widths = rows.transpose.map(_.map(_.length).max)
    rows.map { row =>
      val cells = row.zip(widths).zipWithIndex.map {
        case ((cell, width), 0) => cell.padTo(width, ' ')
        case ((cell, width), _) => " " * (width - cell.length) + cell
      }
      cells.mkString("  ")
    }.mkString("\n")
  }
}
