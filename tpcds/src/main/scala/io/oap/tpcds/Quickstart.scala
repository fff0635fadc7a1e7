package io.oap.tpcds

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.oap.tpcds.storage.StorageClass

/** The main job: nine TPC-DS queries three ways, their rows compared. Started by dev/quickstart. */
object Quickstart {

  def main(arguments: Array[String]): Unit = sys.exit(run(arguments))

  /** @return the exit status: 0 when all rows are the same, 1 when not, 2 for wrong options */
  private def run(arguments: Array[String]): Int =
    try {
      val options = Options.parse(Options.Command.QUICKSTART, arguments.toSeq.asJava)
      val queries = Queries.named(options.queries.asScala.toSeq)
      val report = measure(options, queries)
      println(report.table)
      val file = Path.of(options.report).toAbsolutePath
      Files.writeString(file, report.json)
      println(s"report: $file")
      report.queries.foreach { query =>
        query.differences.foreach(difference => println(s"${query.query} DIFFERS, $difference"))
      }
      println(if (report.allRowsEqual) "All rows are the same." else "ROWS DIFFER.")
      if (report.allRowsEqual) 0 else 1
    } catch {
      case e: Options.Rejected =>
        System.err.println(e.getMessage)
        2
    }

  private def measure(options: Options, queries: Seq[String]): Report = {
    val progress = Progress.ofTerminal()
    val systems = Systems.start()
    val data = new DataFolder(options.data, options.scale)
    val tables = Queries.tables(queries)
    data.complete(systems.sparkAlone, tables, options.partitioned, progress)
    val storage = StorageClass.ofScheme(options.storage)
    for (session <- Seq(systems.sparkAlone, systems.oap)) {
      data.register(session, tables, options.partitioned, storage)
    }
    val runs = new Measurement(systems, options.iterations, progress).of(queries)
    progress.clear()
    Report(Circumstances.now(systems.oap, options), runs)
  }
}
