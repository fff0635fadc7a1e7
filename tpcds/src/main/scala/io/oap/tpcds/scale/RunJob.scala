package io.oap.tpcds.scale

import io.oap.tpcds.{Json, Progress, Queries}
import io.oap.tpcds.result.ResultTable

/** The job behind dev/tpcds run, scenario and matrix. */
object RunJob {

  def main(arguments: Array[String]): Unit = Job.exit {
    run(Json.read(arguments.head, classOf[RunRequest]))
  }

  /** @return the exit status: 0 when all queries ran and gave the same rows, else 1 */
  private def run(request: RunRequest): Int = {
    Queries.named(request.plan.queries)
    val progress = Progress.ofTerminal()
    progress.say(s"seed ${request.plan.seed}")
    val experiment = new Experiment(request, progress)
    val result = experiment.run()
    progress.clear()
    println(ResultTable.of(result))
    println(s"result: ${request.out}")
    experiment.missing(result) match {
      case 0 =>
      case rounds => println(s"$rounds rounds are left; the same command runs them.")
    }
    val wrong = ResultTable.wrong(result)
    wrong.foreach(println)
    if (wrong.isEmpty) 0 else 1
  }
}
