package io.oap.tpcds.random

import scala.util.matching.Regex

/** What a query can do with the values of a type. */
sealed trait Family

object Family {
  case object Bool extends Family
  case object Integral extends Family
  final case class Decimal(precision: Int) extends Family
  case object Floating extends Family
  case object Text extends Family

  /** Strings that may be equal and yet of different bytes. */
  final case class Collated(ignoresCase: Boolean, ignoresSpaces: Boolean) extends Family
  case object Date extends Family
  case object Timestamp extends Family
  case object Binary extends Family
  case object Interval extends Family
  case object Nested extends Family
}

/**
 * A SQL type whose values are numbered from 0.
 *
 * @param sql name of the type in DDL
 * @param value SQL of the value of a number; the number is SQL of type BIGINT
 * @param parts of a struct: names and types of its fields
 */
final case class Kind(
    sql: String,
    family: Family,
    value: String => String,
    parts: Seq[(String, Kind)] = Nil) {

  /**
   * SQL that gives the same bytes for values that are equal. Which one of several equal values a
   * GROUP BY, a DISTINCT, a MIN or a tie of a sort gives depends on the order of rows.
   */
  def normal(ref: String): String = family match {
    case Family.Floating => s"($ref + CAST(0 AS DOUBLE))"
    case Family.Collated(ignoresCase, ignoresSpaces) =>
      val trimmed = if (ignoresSpaces) s"rtrim($ref)" else ref
      val lower = if (ignoresCase) s"lower($trimmed)" else trimmed
      s"($lower COLLATE UTF8_BINARY)"
    case _ => ref
  }

  /** The kind of what [[normal]] gives. */
  def normalKind: Kind = family match {
    case Family.Floating => Kinds.Double
    case _: Family.Collated => Kinds.Text
    case Family.Text => Kinds.Text
    case _ => this
  }

  /** The type's name in a CAST, which knows no lengths of strings. */
  def castName: String = if (family == Family.Text) "STRING" else sql

  /** SQL of what a column of this type gives when it was given a value. */
  def stored(value: String): String = sql match {
    case Kind.Char(length) => s"rpad($value, $length, ' ')"
    case _ => s"CAST($value AS $castName)"
  }

  def isNested: Boolean = family == Family.Nested

  def isCollated: Boolean = family.isInstanceOf[Family.Collated]
}

private object Kind {
  val Char: Regex = """CHAR\((\d+)\)""".r
}

/** All types that Parquet tables of Spark can have, and their values. */
object Kinds {
  val Boolean: Kind = Kind("BOOLEAN", Family.Bool, k => s"($k % 2 = 0)")
  val Int: Kind = Kind(
    "INT",
    Family.Integral,
    k =>
      s"CAST(CASE $k WHEN 3 THEN 2147483647 WHEN 4 THEN -2147483648 ELSE $k * 7 - 50 END AS INT)")
  val Long: Kind = Kind(
    "BIGINT",
    Family.Integral,
    k =>
      s"CASE $k WHEN 3 THEN 9223372036854775807 WHEN 4 THEN -9223372036854775807 " +
        s"ELSE $k * 1000003 - 70000000 END")

  /** Long strings that hardly compress. */
  val Wide: Kind = Kind("STRING", Family.Text, k => s"sha2(string($k), 512)")

  /** Numbers of rows. */
  val Row: Kind = Kind("BIGINT", Family.Integral, k => k)
  val Double: Kind = floating("DOUBLE")
  val Text: Kind = Kind("STRING", Family.Text, k => s"concat('s', string($k))")
  val Date: Kind = dates("1969-06-01")
  val Timestamp: Kind =
    Kind("TIMESTAMP", Family.Timestamp, k => s"timestamp_micros($k * 7200000123 - 300000000000000)")

  private val Integrals = Seq(
    Kind("TINYINT", Family.Integral, k => s"CAST($k % 256 - 128 AS TINYINT)"),
    Kind("SMALLINT", Family.Integral, k => s"CAST($k * 13 % 65536 - 32768 AS SMALLINT)"),
    Int,
    Long
  )

  private val Texts = Seq(
    Text,
    Kind(
      "STRING",
      Family.Text,
      k => s"if($k = 0, '', concat(repeat('same ', 9), string($k), 'ä€𝄞'))"),
    Kind("VARCHAR(12)", Family.Text, k => s"concat('v', string($k))"),
    Kind("CHAR(9)", Family.Text, k => s"concat('c', string($k))")
  )

  private val CollatedTexts = Seq(
    Kind(
      "STRING COLLATE UTF8_LCASE",
      Family.Collated(ignoresCase = true, ignoresSpaces = false),
      k => s"concat(if($k % 2 = 0, 'Lä', 'lÄ'), string($k div 2))"),
    Kind(
      "STRING COLLATE UTF8_BINARY_RTRIM",
      Family.Collated(ignoresCase = false, ignoresSpaces = true),
      k => s"concat('r', string($k div 2), if($k % 2 = 0, '  ', ''))"
    ),
    Kind(
      "STRING COLLATE UTF8_LCASE_RTRIM",
      Family.Collated(ignoresCase = true, ignoresSpaces = true),
      k => s"concat(if($k % 2 = 0, 'X', 'x'), string($k div 2), if($k % 3 = 0, ' ', ''))"
    )
  )

  private val TimestampNtz = Kind(
    "TIMESTAMP_NTZ",
    Family.Timestamp,
    k => s"(TIMESTAMP_NTZ'1969-12-01 00:00:00' + make_dt_interval(0, 0, 0, $k * 4321.654321BD))")

  private val Binaries = Seq(
    Kind("BINARY", Family.Binary, k => s"CAST(concat('b', string($k)) AS BINARY)"),
    Kind("BINARY", Family.Binary, k => s"unhex(concat('00ff', hex($k)))"))

  private val Intervals = Seq(
    Kind(
      "INTERVAL YEAR TO MONTH",
      Family.Interval,
      k => s"make_ym_interval(0, CAST($k - 100 AS INT))"),
    Kind(
      "INTERVAL DAY TO SECOND",
      Family.Interval,
      k => s"make_dt_interval(0, 0, 0, $k * 61.5BD - 4000)")
  )

  private def floating(name: String): Kind = Kind(
    name,
    Family.Floating,
    k =>
      s"CAST(CASE $k WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' WHEN 2 THEN '0.0' WHEN 3 THEN " +
        s"'Infinity' ELSE concat(string($k), '.375') END AS $name)"
  )

  private def dates(first: String): Kind =
    Kind("DATE", Family.Date, k => s"date_add(DATE'$first', CAST($k * 3 AS INT))")

  /** The first digits tell values apart; the rest is filled up to the precision. */
  private def decimal(precision: Int, scale: Int): Kind = {
    def digits(number: Int, fill: String): String =
      if (number == 0) "''" else s"left(concat(string(%s), repeat('$fill', 38)), $number)"
    def value(k: String): String =
      s"CAST(concat(if($k % 3 = 0, '-', ''), ${digits(precision - scale, "7").replace("%s", k)}, " +
        s"'.', ${digits(scale, "3").replace("%s", s"($k + 1)")}) AS DECIMAL($precision, $scale))"
    Kind(s"DECIMAL($precision, $scale)", Family.Decimal(precision), value)
  }

  /** A type of one value without parts, but not nested. */
  def flat(choices: Choices): Kind = choices.below(12) match {
    case 0 => Boolean
    case 1 | 2 => choices.oneOf(Integrals: _*)
    case 3 => floating(choices.oneOf("FLOAT", "DOUBLE"))
    case 4 | 5 => choices.oneOf(Texts: _*)
    case 6 => choices.oneOf(CollatedTexts: _*)
    case 7 => choices.oneOf(Date, dates("1581-01-01"))
    case 8 => choices.oneOf(Timestamp, TimestampNtz)
    case 9 => choices.oneOf(Binaries ++ Intervals: _*)
    case _ =>
      val precision = choices.between(1, 38)
      decimal(precision, choices.between(0, precision))
  }

  /** Any type. */
  def any(choices: Choices): Kind = if (choices.chance(88)) flat(choices) else nested(choices)

  private def nested(choices: Choices): Kind = {
    val inner = flat(choices)
    choices.below(4) match {
      case 0 | 1 =>
        val second = flat(choices)
        Kind(
          s"STRUCT<a: ${inner.sql}, b: ${second.sql}>",
          Family.Nested,
          k =>
            s"named_struct('a', ${inner.value(k)}, 'b', if($k % 5 = 0, NULL, ${second.value(k)}))",
          Seq("a" -> inner, "b" -> second)
        )
      case 2 =>
        Kind(
          s"ARRAY<${inner.sql}>",
          Family.Nested,
          k => s"if($k % 4 = 0, array(), array(${inner.value(k)}, NULL, ${inner.value("7")}))")
      case _ =>
        Kind(
          s"MAP<STRING, ${inner.sql}>",
          Family.Nested,
          k => s"map('x', ${inner.value(k)}, concat('k', string($k)), NULL)")
    }
  }

  /** A type of keys: numbers up to some hundreds have values of their own. */
  def key(choices: Choices): Kind = choices.below(12) match {
    case 0 | 1 | 2 => choices.oneOf(Integrals.drop(1): _*)
    case 3 | 4 => choices.oneOf(Texts: _*)
    case 5 => choices.oneOf(CollatedTexts: _*)
    case 6 => Date
    case 7 => choices.oneOf(Timestamp, TimestampNtz)
    case 8 => choices.oneOf(Binaries ++ Intervals: _*)
    case 9 => floating("DOUBLE")
    case _ =>
      val precision = choices.between(5, 38)
      decimal(precision, choices.between(0, precision - 4))
  }

  /** A type for both. */
  def partitionKey(choices: Choices): Kind =
    Iterator.continually(partition(choices)).find(_.family != Family.Bool).get

  /** A type that a table can be partitioned by. */
  def partition(choices: Choices): Kind = choices.below(9) match {
    case 0 => Boolean
    case 1 | 2 => choices.oneOf(Integrals: _*)
    case 3 | 4 => choices.oneOf(Texts: _*)
    case 5 => Date
    case 6 => choices.oneOf(Timestamp, TimestampNtz)
    // Values that are equal and yet have two folders are not for writers.
    case 7 =>
      val plain = Kind("DOUBLE", Family.Floating, k => s"CAST($k * 0.25BD AS DOUBLE)")
      choices.oneOf(plain, Binaries.head)
    case _ =>
      val precision = choices.between(3, 38)
      decimal(precision, choices.between(0, precision - 2))
  }
}
