package io.oap.spark.read

import java.nio.file.{Files, Path => LocalPath}
import java.time.LocalDate
import java.util.TimeZone

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.Group
import org.apache.parquet.example.data.simple.{NanoTime, SimpleGroupFactory}
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.schema.{MessageType, MessageTypeParser}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.internal.LegacyBehaviorPolicy
import org.apache.spark.sql.types.TimestampType

import io.oap.spark.CacheSuite
import io.oap.spark.vector.VectorType

/** Files that other writers left: calendars, INT96, nanoseconds, strings without their type. */
class ForeignFilesSuite extends CacheSuite {

  private def write(
      name: String,
      schema: String,
      count: Int)(fill: (Group, Int) => Unit): String = {
    val message: MessageType = MessageTypeParser.parseMessageType(schema)
    val file = new Path(path(name), "foreign.parquet")
    val writer = ExampleParquetWriter
      .builder(HadoopOutputFile.fromPath(file, new Configuration()))
      .withType(message)
      .withRowGroupSize(4096L)
      .withPageRowCountLimit(50)
      .build()
    Using.resource(writer) { open =>
      val groups = new SimpleGroupFactory(message)
      for (i <- 0 until count) {
        val row = groups.newGroup()
        fill(row, i)
        open.write(row)
      }
    }
    path(name)
  }

  private val Times =
    """message times {
      |  required int64 id;
      |  required int32 d (DATE);
      |  required int64 us (TIMESTAMP(MICROS, true));
      |  required int64 ms (TIMESTAMP(MILLIS, true));
      |  required int96 i96;
      |}""".stripMargin

  private def times(name: String, firstYear: Int): String = write(name, Times, 600) { (row, i) =>
    val day = LocalDate.of(firstYear, 1, 1).plusDays(i.toLong).toEpochDay
    row.append("id", i.toLong).append("d", day.toInt)
    row.append("us", day * 86400000000L + i).append("ms", day * 86400000L + i)
    row.append("i96", new NanoTime(day.toInt + 2440588, i * 1000000L))
  }

  private val modes = Seq("CORRECTED", "LEGACY", "EXCEPTION")

  private def withModes(read: (String, String) => Unit): Unit =
    for (dates <- modes; int96 <- modes) read(dates, int96)

  for (year <- Seq(1400, 1880, 2020)) test(s"calendar rebase modes, dates from $year on") {
    val files = times(s"times$year", year)
    val filters = Seq("true", s"d < '$year-02-01'", s"us > timestamp'$year-08-01 00:00:00'")
    withModes { (dates, int96) =>
      val settings = Seq(
        "spark.sql.parquet.datetimeRebaseModeInRead" -> dates,
        "spark.sql.parquet.int96RebaseModeInRead" -> int96)
      val outcomes = withConf(settings: _*) {
        filters.map(filter => assertSameOutcome(spark.read.parquet(files).filter(filter)))
      }
      assert(outcomes.head.isLeft === mustFail(year, dates, int96), s"$dates $int96")
      // The same by options, against a session that says otherwise.
      val options = Map("datetimeRebaseMode" -> dates, "int96RebaseMode" -> int96)
      assertSameOutcome(spark.read.options(options).parquet(files))
    }
  }

  /** Timestamps are ambiguous up to the year in which the zones of the last countries settled. */
  private def mustFail(year: Int, dates: String, int96: String): Boolean =
    year < 1900 && (dates == "EXCEPTION" || int96 == "EXCEPTION")

  test("calendar of files that Spark wrote") {
    for (mode <- Seq("CORRECTED", "LEGACY"); outType <- Seq("TIMESTAMP_MICROS", "INT96")) {
      val settings = Seq(
        "spark.sql.parquet.outputTimestampType" -> outType,
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode,
        "spark.sql.parquet.int96RebaseModeInWrite" -> mode
      )
      val files = path(s"calendar-$mode-$outType")
      withConf(settings: _*) {
        spark.range(0, 300, 1, 1)
          .selectExpr(
            "id",
            "date'1500-01-01' + cast(id as int) d",
            "timestamp'1500-01-01 01:02:03' t")
          .write.parquet(files)
      }
      for (read <- modes) withConf("spark.sql.parquet.datetimeRebaseModeInRead" -> read) {
        assertServed(spark.read.parquet(files))
        assertServed(spark.read.parquet(files).filter("d = '1500-01-15'"))
      }
    }
  }

  /** As if another program had written it: the name of the writer is changed where it stands. */
  private def renameWriter(folder: String): Unit = {
    val file = LocalPath.of(folder, "foreign.parquet")
    val bytes = Files.readAllBytes(file)
    val at = new String(bytes, "ISO-8859-1").lastIndexOf("parquet-mr version")
    assert(at > 0)
    bytes(at) = 'q'
    Files.write(file, bytes)
    Files.deleteIfExists(LocalPath.of(folder, ".foreign.parquet.crc"))
  }

  test("days of the old calendar that are one to Spark, joined") {
    // Of 29 February in the year 1000, which Spark's calendar does not have, it makes 1 March.
    val march = RebaseDateTime.rebaseGregorianToJulianDays(
      LocalDate.of(1000, 3, 1).toEpochDay.toInt)
    val files = write("leap", "message leap { required int32 d (DATE); }", 600) { (row, _) =>
      row.append("d", march - 1)
    }
    spark.sql("SELECT date'1000-03-01' AS key, 1 AS used").write.parquet(path("march"))
    withConf("spark.sql.parquet.datetimeRebaseModeInRead" -> "LEGACY") {
      def query = {
        val fact = spark.read.parquet(files)
        val dimension = spark.read.parquet(path("march")).filter("used = 1")
        fact.join(dimension, fact("d") === dimension("key"))
      }
      assertSameRows(query)
      assert(query.count() === 600)
    }
  }

  test("INT96 timestamps of other writers in another time zone") {
    val ours = times("ours", 2020)
    val others = times("others", 2020)
    renameWriter(others)
    for {
      isConverted <- Seq("true", "false")
      zone <- Seq("America/Los_Angeles", "Asia/Tokyo")
    } withConf(
      "spark.sql.parquet.int96TimestampConversion" -> isConverted,
      "spark.sql.session.timeZone" -> zone) {
      assertServed(spark.read.parquet(ours).selectExpr("id", "i96"))
      assertServed(spark.read.parquet(others).selectExpr("id", "cast(i96 as string)"))
    }
    withConf("spark.sql.parquet.int96AsTimestamp" -> "false") {
      assertSameOutcome(spark.read.parquet(others))
    }
  }

  test("one zone after the other, without a cold run between") {
    val others = times("zones", 2020)
    renameWriter(others)
    def read(): DataFrame = spark.read.parquet(others).selectExpr("id", "cast(i96 as string)")
    withConf("spark.sql.parquet.int96TimestampConversion" -> "true") {
      for (zone <- Seq("UTC", "Asia/Tokyo", "America/Los_Angeles", "UTC")) {
        withConf("spark.sql.session.timeZone" -> zone) {
          assertRows(rows(read()), alone(rows(read())), zone)
        }
      }
    }
  }

  test("what a file does not say of its zone is the process's, and part of a vector chunk's key") {
    val silent = RebaseSpec(LegacyBehaviorPolicy.LEGACY)
    val form = VectorType.of(TimestampType).get
    val here = TimeZone.getDefault
    val keys =
      try for (zone <- Seq("UTC", "Asia/Tokyo", "UTC")) yield {
        TimeZone.setDefault(TimeZone.getTimeZone(zone))
        form.representation(DatetimeRebase(silent, silent, None).text)
      }
      finally TimeZone.setDefault(here)
    assert(keys.distinct.size === 2 && keys.head === keys.last)
  }

  test("timestamps with and without a zone") {
    val files = write(
      "local",
      "message m { required int64 l (TIMESTAMP(MICROS, false)); required int64 z (TIMESTAMP(MILLIS, true)); }",
      300) { (row, i) => row.append("l", i * 1000001L).append("z", i * 1001L) }
    for (isInferred <- Seq("true", "false")) {
      withConf("spark.sql.parquet.inferTimestampNTZ.enabled" -> isInferred) {
        assertServed(spark.read.parquet(files))
        assertServed(spark.read.parquet(files).filter("l > '1970-01-01 00:01:00'"))
      }
    }
    for (schema <- Seq("l TIMESTAMP, z TIMESTAMP", "l TIMESTAMP_NTZ, z TIMESTAMP_NTZ")) {
      assertSameOutcome(spark.read.schema(schema).parquet(files))
    }
  }

  test("nanoseconds") {
    val files = write("nanos", "message m { required int64 n (TIMESTAMP(NANOS, true)); }", 300) {
      (row, i) => row.append("n", i * 1000000007L)
    }
    for (asLong <- Seq("true", "false")) {
      withConf("spark.sql.legacy.parquet.nanosAsLong" -> asLong) {
        val outcome = assertSameOutcome(spark.read.parquet(files))
        assert(outcome.isRight === asLong.toBoolean)
      }
    }
  }

  test("unsigned integers, decimals of all kinds, strings without their type") {
    val files = write(
      "kinds",
      """message m {
        |  required int32 u8 (INTEGER(8, false));
        |  required int32 u32 (INTEGER(32, false));
        |  required int64 u64 (INTEGER(64, false));
        |  optional int32 d32 (DECIMAL(9, 2));
        |  optional int64 d64 (DECIMAL(18, 4));
        |  optional binary db (DECIMAL(20, 3));
        |  required binary s;
        |  repeated int32 many;
        |}""".stripMargin,
      500
    ) { (row, i) =>
      row.append("u8", i % 256).append("u32", -i).append("u64", -i.toLong)
      if (i % 3 > 0) {
        row.append("d32", i * 7).append("d64", i * 77777L)
        row.append(
          "db",
          org.apache.parquet.io.api.Binary.fromConstantByteArray(
            BigInt(i).pow(5).toByteArray))
      }
      row.append("s", s"text $i")
      (0 until i % 4).foreach(m => row.append("many", m))
    }
    for (asString <- Seq("true", "false")) {
      withConf("spark.sql.parquet.binaryAsString" -> asString) {
        assertServed(spark.read.parquet(files))
        assertServed(spark.read.parquet(files).filter("s = 'text 77' OR d32 > 30").select(
          "u64",
          "db"))
      }
    }
    assertServed(
      spark.read.schema("s STRING, many ARRAY<INT>").parquet(files).filter("s < 'text 2'"))
  }
}
