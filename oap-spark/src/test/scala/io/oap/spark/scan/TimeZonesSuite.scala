package io.oap.spark.scan

import java.time.LocalDate
import java.util.{Map => JavaMap, TimeZone}

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.broadcast

import io.oap.spark.{ExecutorsSuite, ExtendedTest}

/** Gives an executor the time zone that the session names for it, task by task. */
final class ZoneOfExecutor extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, extra: JavaMap[String, String]): Unit = ()

    override def onTaskStart(): Unit =
      Option(TaskContext.get().getLocalProperty(ZoneOfExecutor.key(SparkEnv.get.executorId)))
        .foreach(zone => TimeZone.setDefault(TimeZone.getTimeZone(zone)))
  }
}

object ZoneOfExecutor {
  def key(executor: String): String = s"zone.of.executor.$executor"
}

/** Driver and executors in different time zones: days and moments stay what they are. */
@ExtendedTest
class TimeZonesSuite extends ExecutorsSuite(2) {
  private val Zones = Seq(
    "Asia/Tokyo" -> Seq("UTC", "America/Los_Angeles"),
    // One has left out a day, the other some midnights.
    "Pacific/Apia" -> Seq("America/Sao_Paulo", "Pacific/Apia")
  )

  /** Days around the changes of calendars, of local mean times and of a zone's day, and of now. */
  private val Starts =
    Seq("1582-09-25", "1582-10-15", "1883-11-14", "1899-12-28", "2011-12-26", "2017-10-11")
  private val DaysOfStart = 10
  private val Modes = Seq("CORRECTED", "LEGACY")

  private val zone = TimeZone.getDefault

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.plugins" -> classOf[ZoneOfExecutor].getName,
    "spark.sql.session.timeZone" -> "UTC",
    "spark.oap.cache.representation" -> "vector")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val days = spark.range(0, Starts.size * DaysOfStart.toLong, 1, 1).selectExpr(
      "id",
      s"date_add(CAST(elt(int(id / $DaysOfStart) + 1, ${Starts.mkString("'", "', '", "'")}) " +
        s"AS DATE), int(id % $DaysOfStart)) AS day")
    for (mode <- Modes) {
      withConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> mode) {
        days
          .selectExpr(
            "*",
            "CAST(day AS TIMESTAMP) AS moment",
            "CAST(day AS TIMESTAMP_NTZ) AS local")
          .repartitionByRange(2, days("id"))
          .write.options(rowGroupsOf(1)).parquet(path(s"days$mode"))
      }
    }
    days.where(s"id % 3 = 0").repartition(1).write.partitionBy("day").parquet(path("folders"))
    days.where("id % 3 = 0")
      .selectExpr(
        s"int(id / $DaysOfStart) AS start",
        "day",
        "CAST(day AS TIMESTAMP) AS moment",
        "CAST(day AS TIMESTAMP_NTZ) AS local")
      .repartition(1).write.parquet(path("keys"))
  }

  override protected def afterAll(): Unit =
    try super.afterAll()
    finally TimeZone.setDefault(zone)

  private def inZones(driver: String, ofExecutors: Seq[String])(body: => Unit): Unit =
    try {
      TimeZone.setDefault(TimeZone.getTimeZone(driver))
      for ((zone, executor) <- ofExecutors.zipWithIndex) {
        spark.sparkContext.setLocalProperty(ZoneOfExecutor.key(executor.toString), zone)
      }
      body
    } finally TimeZone.setDefault(zone)

  private def ids(query: DataFrame): Seq[Long] =
    query.select("id").collect().map(_.getLong(0)).toSeq.sorted

  private def all: Seq[Long] = 0L until Starts.size * DaysOfStart.toLong

  private def day(id: Long): LocalDate =
    LocalDate.parse(Starts((id / DaysOfStart).toInt)).plusDays(id % DaysOfStart)

  /** @param runs the first may read encoded chunks, the next ones read vector chunks */
  private def assertIds(query: => DataFrame, expected: Seq[Long], clue: String, runs: Int): Unit =
    for (run <- 1 to runs) {
      val found = ids(query)
      assert(
        found === expected,
        s"$clue, run $run: lacks ${expected.diff(found).map(day(_))}, has ${found.diff(expected)}")
    }

  /** A condition that holds for these days, by column. */
  private def conditions(days: Seq[Long])(of: Seq[String] => String): Seq[(String, String)] =
    Seq(
      "day" -> days.map(id => s"DATE'${day(id)}'"),
      "moment" -> days.map(id => s"TIMESTAMP'${day(id)} 00:00:00'"),
      "local" -> days.map(id => s"TIMESTAMP_NTZ'${day(id)} 00:00:00'")
    )
      .map { case (column, values) => column -> s"$column ${of(values)}" }

  for ((driver, ofExecutors) <- Zones) {
    val where = s"driver in $driver, executors in ${ofExecutors.mkString(" and ")}"

    test(s"join keys, $where") {
      inZones(driver, ofExecutors) {
        def assertJoined(table: String, column: String, starts: Range, runs: Int): Unit = {
          val some = starts.mkString("start IN (", ", ", ")")
          def query = spark.read.parquet(path(table))
            .join(broadcast(spark.read.parquet(path("keys")).where(some)), column)
          val expected = all.filter(id => id % 3 == 0 && starts.contains((id / DaysOfStart).toInt))
          assertIds(query, expected, s"$table $column $starts", runs)
        }
        for (mode <- Modes) {
          // Keys from before the change of calendar rule out no row groups; few keys do one by one.
          for (starts <- Seq(1 to 1, 2 to 2, 5 to 5)) {
            assertJoined(s"days$mode", "day", starts, runs = 1)
          }
          for (column <- Seq("day", "moment", "local")) {
            assertJoined(s"days$mode", column, 1 until Starts.size, runs = 2)
          }
          assertJoined(s"days$mode", "day", Starts.indices, runs = 1)
        }
        assertJoined("folders", "day", Starts.indices, runs = 1)
      }
    }

    test(s"conditions of the query, $where") {
      inZones(driver, ofExecutors) {
        for (mode <- Modes) {
          def table = spark.read.parquet(path(s"days$mode"))
          val some = Starts.indices.map(start => start * DaysOfStart + start.toLong)
          for ((column, condition) <- conditions(some)(_.mkString("IN (", ", ", ")"))) {
            assertIds(table.where(condition), some, s"$mode $column", runs = 2)
          }
          val ranges = for {
            first <- some
            (_, range) <- conditions(Seq(first, first + 4))(_.mkString("BETWEEN ", " AND ", ""))
          } yield (first to first + 4) -> range
          assertIds(
            ranges.map(range => table.where(range._2).select("id")).reduce(_ union _),
            ranges.flatMap(_._1).sorted,
            s"$mode ranges",
            runs = 1)
        }
        for ((_, condition) <- conditions(Seq(21))(_.mkString("= ", "", "")).take(1)) {
          def folder = spark.read.parquet(path("folders")).where(condition)
          assertIds(folder, Seq(21), "folders", runs = 1)
        }
      }
    }
  }
}
