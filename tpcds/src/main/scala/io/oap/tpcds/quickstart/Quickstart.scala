package io.oap.tpcds.quickstart

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.oap.tpcds.{Circumstances, Json, Measurement, Options, Progress, Queries, Side, Systems}
import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.result.{Plan, Result}
import io.oap.tpcds.storage.StorageClass

/** The main job: nine TPC-DS queries three ways, their rows compared. Started by dev/quickstart. */
object Quickstart {

  def main(arguments: Array[String]): Unit = sys.exit(run(arguments))

  /** @return the exit status: 0 when all rows are the same, 1 when not, 2 for wrong options */
  private def run(arguments: Array[String]): Int =
    try {
      val options = Options.parse(Options.Command.QUICKSTART, arguments.toSeq.asJava)
      val queries = Queries.named(options.queries.asScala.toSeq)
      val result = measure(options, queries)
      println(new QuickstartTable(result).text)
      val file = Path.of(options.report).toAbsolutePath
      Files.writeString(file, Json.write(result))
      println(s"report: $file")
      val differences = for {
        round <- result.rounds
        run <- round.queries if run.difference.nonEmpty
        side = if (round.number > 0) round.system else "warm-up"
      } yield s"${run.query} DIFFERS, $side: ${run.difference}"
      differences.foreach(println(_))
      println(if (differences.isEmpty) "All rows are the same." else "ROWS DIFFER.")
      if (differences.isEmpty) 0 else 1
    } catch {
      case e: Options.Rejected =>
        System.err.println(e.getMessage)
        2
    }

  private def measure(options: Options, queries: Seq[String]): Result = {
    val progress = Progress.ofTerminal()
    val storage = StorageClass.ofScheme(options.storage)
    val form = TableForm.named(options.form)
    val systems = Systems.start(form.settings(options.data, options.scale, storage))
    val data = form.data(options.data, options.scale)
    val tables = Queries.tables(queries)
    data.complete(systems.sparkAlone, tables, options.partitioned, progress)
    for (session <- Seq(systems.sparkAlone, systems.oap)) {
      data.register(session, tables, options.partitioned, storage)
    }
    val rounds = new Measurement(systems, options.iterations, progress).of(queries)
    progress.clear()
    val facts = Map[String, Any](
      "poolSize" -> options.poolSize,
      "layout" -> data.layoutWords(systems.oap))
    Result(
      plan(options, queries),
      Seq(command(options, queries)),
      Circumstances.now(systems.oap, facts, options.data),
      neededBytes = 0,
      Side.All.map(_.system),
      rounds,
      Nil,
      Nil
    ).summedUp
  }

  /** What was measured, as it can be typed again; where the data lies is this machine's own. */
  private def command(options: Options, queries: Seq[String]): String = {
    val partitioned = if (options.partitioned) " --partitioned" else ""
    val form = if (options.form == TableForm.Parquet.word) "" else s" --form ${options.form}"
    s"dev/quickstart --scale ${options.scale} --queries ${queries.mkString(",")}" +
      s" --iterations ${options.iterations} --storage ${options.storage}" +
      s" --pool-size ${options.poolSize}$partitioned$form"
  }

  private def plan(options: Options, queries: Seq[String]): Plan = Plan(
    scenario = "",
    data = options.data,
    scale = options.scale,
    queries = queries,
    partitioned = options.partitioned,
    form = options.form,
    storage = options.storage,
    systems = Side.All.map(_.system),
    state = "in turn",
    warmUps = 1,
    rounds = options.iterations,
    repeats = 1,
    tenants = 1,
    deal = false,
    sweep = None,
    needed = 0,
    representation = "",
    matrix = None,
    seed = 0
  )
}
