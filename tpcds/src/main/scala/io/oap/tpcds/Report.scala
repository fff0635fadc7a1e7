package io.oap.tpcds

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.time.Instant

import scala.util.Using

import com.sun.management.OperatingSystemMXBean
import org.apache.spark.sql.SparkSession

/** Where and with what something was measured: facts without which the numbers say nothing. */
final case class Circumstances(
    time: String,
    options: Map[String, Any],
    machine: Map[String, Any],
    versions: Map[String, String],
    configuration: Map[String, String])

object Circumstances {
  private val Recorded =
    Seq(
      "spark.oap.",
      "spark.sql.",
      "spark.master",
      "spark.driver.memory",
      "spark.executor.",
      "spark.default.")

  def now(spark: SparkSession, options: Options): Circumstances = now(
    spark,
    Map[String, Any](
      "scale" -> options.scale,
      "queries" -> options.queries,
      "iterations" -> options.iterations,
      "partitioned" -> options.partitioned,
      "storage" -> options.storage,
      "poolSize" -> options.poolSize
    )
  )

  def now(spark: SparkSession, options: Map[String, Any]): Circumstances = Circumstances(
    Instant.now().toString,
    options,
    machine(spark),
    versions(spark),
    spark.conf.getAll.filter { case (key, _) =>
      Recorded.exists(key.startsWith(_)) && key != "spark.sql.warehouse.dir"
    }
  )

  private def machine(spark: SparkSession): Map[String, Any] = {
    val memory = ManagementFactory.getOperatingSystemMXBean match {
      case bean: OperatingSystemMXBean => bean.getTotalMemorySize
      case _ => -1L
    }
    Map(
      "processor" -> cpuinfo("model name").getOrElse(System.getProperty("os.arch")),
      "processors" -> Runtime.getRuntime.availableProcessors(),
      "memoryBytes" -> memory,
      "kernel" -> s"${System.getProperty("os.name")} ${System.getProperty("os.version")}",
      "memoryNodes" -> memoryNodes,
      "taskSlots" -> spark.sparkContext.defaultParallelism
    )
  }

  private def versions(spark: SparkSession): Map[String, String] = Map(
    "spark" -> spark.version,
    "oap" -> Option(getClass.getPackage.getImplementationVersion).getOrElse("unpackaged"),
    "scala" -> scala.util.Properties.versionNumberString,
    "java" -> System.getProperty("java.vm.version")
  )

  private def memoryNodes: Int = {
    val nodes = Option(Path.of("/sys/devices/system/node").toFile.list())
    nodes.fold(1)(_.count(_.matches("node[0-9]+")))
  }

  private def cpuinfo(key: String): Option[String] = {
    val file = Path.of("/proc/cpuinfo")
    if (!Files.isReadable(file)) None
    else Using.resource(Files.lines(file)) { lines =>
      val found = lines.filter(_.startsWith(key)).findFirst()
      if (found.isPresent) Some(found.get().split(":", 2).last.trim) else None
    }
  }
}

/** The outcome of a run of several queries, as a table for people and as JSON for programs. */
final case class Report(circumstances: Circumstances, queries: Seq[QueryRuns]) {

  def allRowsEqual: Boolean = queries.forall(_.differences.isEmpty)

  def speedUp(side: Side): Double = Statistics.geometricMean(queries.map(_.speedUp(side)))

  /** One line for each query, then the geometric means of the speed-ups. */
  def table: String = {
    val lines = queries.map(line) :+ Seq(
      "geometric mean",
      "",
      "",
      "",
      times(speedUp(Side.Cold)),
      times(speedUp(Side.Warm)),
      "",
      "",
      "",
      "")
    Report.align(Report.Header +: lines)
  }

  private def line(query: QueryRuns): Seq[String] = {
    def seconds(side: Side) = f"${query.medianSeconds(side)}%.2f s"
    def fromFile(side: Side) = megabytes(query.of(side).map(_.fileBytes.toDouble))
    val fromPool = query.of(Side.Warm).map(_.scan.getOrElse("bytesFromPool", 0L).toDouble)
    Seq(query.query) ++ Side.All.map(seconds) ++
      Seq(times(query.speedUp(Side.Cold)), times(query.speedUp(Side.Warm)), megabytes(fromPool)) ++
      Side.All.map(fromFile)
  }

  private def times(factor: Double): String = f"$factor%.2f x"

  // Tells 0 bytes from a few, because 0 is what a warm run is judged by.
  private def megabytes(bytes: Seq[Double]): String = Statistics.median(bytes) match {
    case 0.0 => "0"
    case some => f"${some / 1e6}%.3f MB"
  }

  def json: String = Json.write(
    Map[String, Any](
      "circumstances" -> circumstances,
      "allRowsEqual" -> allRowsEqual,
      "geometricMeanSpeedUp" -> Map("cold" -> speedUp(Side.Cold), "warm" -> speedUp(Side.Warm)),
      "queries" -> queries.map { query =>
        Map[String, Any](
          "query" -> query.query,
          "rows" -> query.rows,
          "differences" -> query.differences,
          "medianSeconds" -> Side.All.map(side => side.name -> query.medianSeconds(side)).toMap,
          "runs" -> query.runs
        )
      }
    ))
}

object Report {
  private val Header = Seq(
    "query",
    "Spark alone",
    "cold",
    "warm",
    "cold is",
    "warm is",
    "pool, warm",
    "file, alone",
    "file, cold",
    "file, warm")

  /** Columns of text, the first one to the left, the others to the right. */
  private[tpcds] def align(rows: Seq[Seq[String]]): String = {
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
