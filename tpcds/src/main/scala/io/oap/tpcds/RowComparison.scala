package io.oap.tpcds

import org.apache.spark.sql.{Row, SparkSession}

/**
 * Whether two results of one query are the same rows, in any order: ORDER BY leaves ties open.
 *
 * Values must be exactly equal, except floating point numbers, which may differ by a relative
 * 1e-12: the order in which tasks finish decides the order in which a sum adds up, so Spark alone
 * does not give the same last bit twice. None of the nine queries has such a column.
 */
object RowComparison {
  private val Tolerance = 1e-12

  /** None when the rows are the same, else what differs, in one line. */
  def difference(expected: Seq[Row], actual: Seq[Row]): Option[String] =
    if (expected.length != actual.length) {
      Some(s"${actual.length} rows instead of ${expected.length}")
    } else {
      sorted(expected).zip(sorted(actual)).collectFirst {
        case (left, right) if !isSame(left, right) => s"$right instead of $left"
      }
    }

  /**
   * Whether rows that differ from those of Spark alone do so only because of ties: ORDER BY with
   * LIMIT may cut through rows that the order does not tell apart; then which of them are given is
   * nobody's promise. Without the LIMIT there is one right result, and the rows that were given must
   * be among it.
   *
   * @param text of the query
   */
  def onlyTiesDiffer(
      sparkAlone: SparkSession,
      other: SparkSession,
      text: String,
      rows: Seq[Row]): Boolean = {
    val unlimited = LastLimit.replaceFirstIn(text, "")
    unlimited != text && {
      val all = sparkAlone.sql(unlimited).collect().toSeq
      val others = other.sql(unlimited).collect().toSeq
      difference(all, others).isEmpty && rows.toSet.subsetOf(all.toSet)
    }
  }

  // At the very end of the text it belongs to the whole query.
  private val LastLimit = "(?i)\\slimit\\s+\\d+\\s*;?\\s*\\z".r

  // Exact values first, so that a last bit of a floating point number cannot change the order
  // among rows that are told apart by anything else.
  private def sorted(rows: Seq[Row]): Seq[Row] = rows.sortBy { row =>
    val (inexact, exact) = row.toSeq.partition(isFloatingPoint)
    (exact.map(sortText).mkString("\u0001"), inexact.map(v => asDouble(v)).mkString("\u0001"))
  }

  private def sortText(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.mkString(",")
    case other => String.valueOf(other)
  }

  private def isSame(left: Any, right: Any): Boolean = (left, right) match {
    case (l: Row, r: Row) => areSame(l.toSeq, r.toSeq)
    case (l: collection.Seq[_], r: collection.Seq[_]) => areSame(l.toSeq, r.toSeq)
    case (l: Array[Byte], r: Array[Byte]) => l.sameElements(r)
    case _ if isFloatingPoint(left) && isFloatingPoint(right) =>
      val (l, r) = (asDouble(left), asDouble(right))
      java.lang.Double.compare(l, r) == 0 ||
      math.abs(l - r) <= Tolerance * math.max(math.abs(l), math.abs(r))
    case _ => left == right
  }

  private def areSame(left: Seq[Any], right: Seq[Any]): Boolean =
    left.length == right.length && left.zip(right).forall { case (l, r) => isSame(l, r) }

  private def isFloatingPoint(value: Any): Boolean = value match {
    case _: Double | _: Float => true
    case _ => false
  }

  private def asDouble(value: Any): Double = value.asInstanceOf[Number].doubleValue()
}
