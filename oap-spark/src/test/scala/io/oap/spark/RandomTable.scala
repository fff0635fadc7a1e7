package io.oap.spark

import java.time.{Duration, Instant, LocalDate, LocalDateTime, Period}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * A random table: its columns, its rows and how its files are written. All of it follows from the
 * random numbers it is given.
 *
 * Columns `id` and `day` ascend, so that filters on them rule out row groups and pages; the others
 * are of any type, each with its own share of nulls and its own number of distinct values.
 */
final class RandomTable(random: Random, rowCount: Int) {

  /** Columns besides `id` and `day`. */
  val columns: Seq[StructField] =
    Seq.tabulate(1 + random.nextInt(8))(i => StructField(s"c$i", anyType(depth = 0)))

  val schema: StructType = StructType(
    Seq(
      StructField("id", LongType),
      StructField("day", IntegerType),
      StructField("part", StringType)) ++ columns)

  val rows: Seq[Row] = {
    val generators = columns.map(column => values(column.dataType, isNullable = true))
    val rowsOfADay = 1 + random.nextInt(200)
    (0 until rowCount).map { i =>
      Row.fromSeq(
        Seq[Any](i.toLong * 3, i / rowsOfADay, oneOf("a", "b c", null)) ++ generators.map(_()))
    }
  }

  val isPartitioned: Boolean = random.nextInt(4) == 0

  /** Options of the writer. */
  val writeOptions: Map[String, String] = Map(
    "compression" -> oneOf("none", "snappy", "gzip", "zstd", "lz4", "lz4_raw"),
    "parquet.enable.dictionary" -> random.nextBoolean().toString,
    "parquet.dictionary.page.size" -> oneOf("200", "5000", "1048576"),
    "parquet.page.size" -> oneOf("200", "2000", "1048576"),
    "parquet.page.row.count.limit" -> oneOf("7", "100", "20000"),
    "parquet.page.size.row.check.min" -> "10",
    "parquet.block.size" -> oneOf("20000", "100000", "134217728"),
    "parquet.writer.version" -> oneOf("PARQUET_1_0", "PARQUET_2_0"),
    "parquet.page.write-checksum.enabled" -> random.nextBoolean().toString,
    "parquet.bloom.filter.enabled" -> (random.nextInt(4) == 0).toString,
    "parquet.bloom.filter.max.bytes" -> "2048"
  )

  /** Session settings that shape the files. */
  val writeSettings: Seq[(String, String)] = Seq(
    "spark.sql.parquet.outputTimestampType" ->
      oneOf("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"),
    "spark.sql.parquet.writeLegacyFormat" -> (random.nextInt(4) == 0).toString
  )

  def write(spark: SparkSession, path: String): Unit = {
    val data = spark.createDataFrame(rows.asJava, schema).coalesce(1 + random.nextInt(2))
    val writer = data.write.options(writeOptions)
    (if (isPartitioned) writer.partitionBy("part") else writer).parquet(path)
  }

  override def toString: String =
    s"${schema.toDDL}, ${rows.size} rows, partitioned $isPartitioned, $writeOptions, $writeSettings"

  private def oneOf[T](choices: T*): T = choices(random.nextInt(choices.size))

  private def anyType(depth: Int): DataType = random.nextInt(if (depth < 3) 10 else 7) match {
    case 7 =>
      StructType(Seq.tabulate(1 + random.nextInt(3))(i =>
        StructField(s"f$i", anyType(depth + 1), random.nextInt(4) > 0)))
    case 8 => ArrayType(anyType(depth + 1), random.nextBoolean())
    case 9 =>
      MapType(oneOf(StringType, IntegerType, LongType), anyType(depth + 1), random.nextBoolean())
    case _ => flatType()
  }

  private def flatType(): DataType = random.nextInt(17) match {
    case 0 => BooleanType
    case 1 => ByteType
    case 2 => ShortType
    case 3 => IntegerType
    case 4 => LongType
    case 5 => FloatType
    case 6 => DoubleType
    case 7 => DateType
    case 8 => TimestampType
    case 9 => TimestampNTZType
    case 10 => BinaryType
    case 11 => YearMonthIntervalType()
    case 12 => DayTimeIntervalType()
    case 13 | 14 => StringType
    case _ =>
      val precision = 1 + random.nextInt(38)
      DecimalType(precision, random.nextInt(precision + 1))
  }

  /** A source of values of one column or field. */
  private def values(dataType: DataType, isNullable: Boolean): () => Any = {
    val shareOfNulls = if (isNullable) oneOf(0.0, 0.0, 0.02, 0.5, 0.98, 1.0) else 0.0
    val distinct = oneOf(1, 20, Int.MaxValue)
    val known = ArrayBuffer.empty[Any]
    val fresh = generator(dataType)
    () =>
      if (random.nextDouble() < shareOfNulls) null
      else if (known.size == distinct) known(random.nextInt(distinct))
      else {
        val value = fresh()
        if (distinct < Int.MaxValue) known += value
        value
      }
  }

  private def generator(dataType: DataType): () => Any = dataType match {
    case StructType(fields) =>
      val ofFields = fields.toSeq.map(field => values(field.dataType, field.nullable))
      () => Row.fromSeq(ofFields.map(_.apply()))
    case ArrayType(element, containsNull) =>
      val elements = values(element, containsNull)
      () => Seq.fill(random.nextInt(4))(elements())
    case MapType(key, value, containsNull) =>
      val keys = generator(key)
      val mapped = values(value, containsNull)
      () => Seq.fill(random.nextInt(4))(keys()).distinct.map(_ -> mapped()).toMap
    case StringType =>
      val longest = oneOf(0, 3, 20, 20, 2000)
      () => random.alphanumeric.take(random.nextInt(longest + 1)).mkString + oneOf("", "", "ä€𝄞")
    case BinaryType =>
      val longest = oneOf(0, 5, 300)
      () => random.nextBytes(random.nextInt(longest + 1))
    case other => () => scalar(other)
  }

  private def scalar(dataType: DataType): Any = dataType match {
    case BooleanType => random.nextBoolean()
    case ByteType => random.nextInt().toByte
    case ShortType => random.nextInt().toShort
    case IntegerType => oneOf(random.nextInt(), random.nextInt(50), Int.MinValue, Int.MaxValue)
    case LongType => oneOf(random.nextLong(), random.nextInt(50).toLong, Long.MinValue)
    case FloatType => oneOf(random.nextFloat(), Float.NaN, -0.0f, Float.NegativeInfinity, 1f)
    case DoubleType => oneOf(random.nextGaussian(), Double.NaN, -0.0, Double.MaxValue, 1d)
    case DateType => LocalDate.of(1600, 1, 1).plusDays(random.nextInt(240000).toLong)
    case TimestampType =>
      Instant.EPOCH.plusSeconds(random.nextInt().toLong).plusNanos(random.nextInt(1000000) * 1000L)
    case TimestampNTZType =>
      LocalDateTime.of(1600, 1, 1, 0, 0).plusSeconds(random.nextInt(Int.MaxValue) * 6L)
    case _: YearMonthIntervalType => Period.ofMonths(random.nextInt(2000) - 1000)
    case _: DayTimeIntervalType => Duration.ofSeconds(random.nextInt().toLong)
    case decimal: DecimalType =>
      val digits = 1 + random.nextInt(decimal.precision)
      val unscaled = BigInt(Seq.fill(digits)(random.nextInt(10)).mkString)
      BigDecimal(if (random.nextBoolean()) unscaled else -unscaled, decimal.scale).bigDecimal
    case other => throw new IllegalArgumentException(other.sql)
  }
}
