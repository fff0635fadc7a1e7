package io.oap.tpcds.cluster

import io.oap.tpcds.result.Bars
import io.oap.tpcds.scale.Job

/** The job behind the measurements of dev/cluster. */
object ClusterJob {

  def main(arguments: Array[String]): Unit = Job.exit {
    val options = ClusterOptions.of(arguments.head)
    val bars = new Bars(println(_))
    measurement(options).run(println(_), bars)
    println(if (bars.areReached) "All bars are reached." else "NOT ALL BARS ARE REACHED.")
    if (bars.areReached) 0 else 1
  }

  private def measurement(options: ClusterOptions): ClusterMeasurement = options.command match {
    case "queries" | "residency" => new Placements(options)
    case "loss" | "decommission" => new ExecutorLoss(options)
    case "elastic" => new Elastic(options)
    case "waiting" => new Waiting(options)
    case "failures" => new RandomFailures(options)
    case "random" => new RandomQueriesUnderKills(options)
    case "frames" => new FramesUnderKills(options)
  }
}

/** One of the measurements: says what it finds and judges it. */
trait ClusterMeasurement {
  def run(say: String => Unit, bars: Bars): Unit
}
