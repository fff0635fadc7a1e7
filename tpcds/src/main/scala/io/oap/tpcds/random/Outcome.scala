package io.oap.tpcds.random

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Duration, Instant, LocalDate, LocalDateTime, Period, ZoneOffset}
import java.time.temporal.ChronoUnit

import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.SparkPlan

/** What a query comes to. */
sealed trait Outcome

object Outcome {

  /** Its rows as [[text]], sorted: no order is promised but for LIMIT, which is checked by what it keeps. */
  final case class Rows(rows: Seq[String]) extends Outcome

  /**
   * Its error.
   *
   * @param conditions of Spark's errors, or classes of others, down the causes
   * @param message its first line
   */
  final case class Failure(conditions: Seq[String], message: String) extends Outcome {

    /** Whether it is about a value, so that a row that is never looked at does not cause it. */
    def isOfValue: Boolean = conditions.exists(OfValues.contains)
  }

  private val OfValues = Set(
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "DATETIME_OVERFLOW",
    "INTERVAL_ARITHMETIC_OVERFLOW"
  )

  /** Runs a query; also gives the plan that it ended with, when it did not fail. */
  def of(query: => DataFrame): (Outcome, Option[SparkPlan]) =
    try {
      val frame = query
      val rows = Rows(frame.collect().map(text(_)).toSeq.sorted)
      (rows, Some(frame.queryExecution.executedPlan))
    } catch { case NonFatal(e) => (failure(e), None) }

  private def failure(error: Throwable): Failure = {
    val causes = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).toSeq
    val conditions = causes.map {
      case e: SparkThrowable if e.getCondition != null => e.getCondition.takeWhile(_ != '.')
      case e => e.getClass.getName
    }
    Failure(conditions, causes.map(e => String.valueOf(e.getMessage).take(500)).mkString(" <- "))
  }

  /**
   * A value as text, exactly: two values have the same if and only if their bytes are the same.
   * Dates are days, times microseconds, floating point numbers their bits, strings UTF-8.
   */
  def text(value: Any): String = value match {
    case null => "null"
    case row: Row => row.toSeq.map(text).mkString("[", ",", "]")
    case string: String => quoted(string)
    case bytes: Array[Byte] => hex(bytes)
    case double: Double => "d" + java.lang.Double.doubleToRawLongBits(double).toHexString
    case float: Float => "f" + java.lang.Float.floatToRawIntBits(float).toHexString
    case decimal: java.math.BigDecimal => decimal.toPlainString
    case date: LocalDate => date.toEpochDay.toString
    case time: Instant => ChronoUnit.MICROS.between(Instant.EPOCH, time).toString
    case time: LocalDateTime => text(time.toInstant(ZoneOffset.UTC))
    case months: Period => months.toTotalMonths.toString
    case time: Duration => (time.getSeconds * 1000000L + time.getNano / 1000).toString
    case map: scala.collection.Map[_, _] =>
      map.toSeq.map { case (k, v) => text(k) + ":" + text(v) }.sorted.mkString("{", ",", "}")
    case items: scala.collection.Iterable[_] => items.map(text).mkString("(", ",", ")")
    case other => other.toString
  }

  // What a person can read stays as it is, so that a difference tells something.
  private def quoted(string: String): String =
    if (string.forall(c => c >= ' ' && c <= '~' && c != '"')) "\"" + string + "\""
    else "u" + hex(string.getBytes(UTF_8))

  private def hex(bytes: Array[Byte]): String = bytes.map(b => f"$b%02x").mkString("0x", "", "")

  /** None when they are the same; how they differ, in some lines. */
  def difference(expected: Outcome, actual: Outcome): Option[String] = (expected, actual) match {
    case (Rows(there), Rows(here)) if there == here => None
    case (Rows(there), Rows(here)) =>
      def first(rows: Seq[String]) = rows.take(3).map(row => "\n  " + row.take(1000)).mkString
      Some(s"${here.size} rows, Spark alone gives ${there.size}; only with the cache:" +
        first(here.diff(there)) + "\nonly from Spark alone:" + first(there.diff(here)))
    // Which of several rows is the first to be wrong is as open as whether a filter drops it before.
    case (there: Failure, Rows(_)) if there.isOfValue => None
    case (there: Failure, here: Failure) if there.isOfValue && here.isOfValue => None
    case (there: Failure, here: Failure) if there.conditions == here.conditions => None
    case (there: Failure, Rows(here)) =>
      Some(s"${here.size} rows, Spark alone fails: ${there.message}")
    case (Rows(there), here: Failure) =>
      Some(s"fails: ${here.message}\nSpark alone gives ${there.size} rows")
    case (there: Failure, here: Failure) =>
      Some(s"fails: ${here.message}\nSpark alone: ${there.message}")
  }
}
