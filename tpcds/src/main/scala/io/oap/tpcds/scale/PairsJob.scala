package io.oap.tpcds.scale

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import io.oap.tpcds.{Circumstances, Json, Progress, Queries}
import io.oap.tpcds.result.{PairsTable, Result, ResultFile, ResultTable}

/** The job behind dev/tpcds pairs. */
object PairsJob {

  def main(arguments: Array[String]): Unit = Job.exit {
    run(Json.read(arguments.head, classOf[RunRequest]), Progress.ofTerminal())
  }

  /** @return the exit status: 0 when all queries ran and gave the same rows, else 1 */
  private[scale] def run(request: RunRequest, progress: Progress): Int = {
    val plan = request.plan
    Queries.named(plan.queries)
    val systems = new PairedSystems(plan, progress)
    val before = load()
    val rounds = systems.rounds()
    progress.clear()
    val facts = Map[String, Any](
      "revision" -> request.revision,
      "layout" -> systems.layoutWords,
      "loadBefore" -> before,
      "loadAfter" -> load())
    val result = Result(
      plan,
      Seq(request.command),
      Circumstances.now(systems.sparkAlone, facts, plan.data),
      neededBytes = 0,
      plan.systems,
      rounds,
      Nil,
      Nil
    ).summedUp
    val out = Path.of(request.out)
    new ResultFile(out).write(result)
    val text = new PairsTable(result).markdown
    val page = out.resolveSibling(out.getFileName.toString.stripSuffix(".json") + ".md")
    Files.writeString(page, text)
    println(text)
    println(s"result: $out, $page")
    val wrong = ResultTable.wrong(result)
    wrong.foreach(println)
    if (wrong.isEmpty) 0 else 1
  }

  /** Processes that want a processor, mean of the last minute; below 0 where nobody knows. */
  private def load(): Double =
    math.round(ManagementFactory.getOperatingSystemMXBean.getSystemLoadAverage * 10) / 10.0
}
