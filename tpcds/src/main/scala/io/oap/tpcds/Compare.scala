package io.oap.tpcds

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}

import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.result.{QueryRun, TextTable}
import io.oap.tpcds.storage.StorageClass

/**
 * All TPC-DS queries with and without the extension, fact tables partitioned and not: the same rows?
 * Started by dev/tpcds-compare.
 */
object Compare {

  def main(arguments: Array[String]): Unit = sys.exit(run(arguments))

  /** @return the exit status: 0 when all rows are the same, 1 when not, 2 for wrong options */
  private def run(arguments: Array[String]): Int =
    try {
      val options = Options.parse(Options.Command.COMPARE, arguments.toSeq.asJava)
      val verdicts = compare(options, Queries.named(options.queries.asScala.toSeq))
      println(table(verdicts))
      val bad = verdicts.filterNot(_.isGood)
      println(s"${verdicts.size - bad.size} of ${verdicts.size} comparisons give the same rows.")
      if (bad.isEmpty) 0 else 1
    } catch {
      case e: Options.Rejected =>
        System.err.println(e.getMessage)
        2
    }

  private def compare(options: Options, queries: Seq[String]): Seq[Verdict] = {
    val progress = Progress.ofTerminal()
    val form = TableForm.named(options.form)
    val systems = Systems.start(form.settings(options.data, options.scale, StorageClass.LOCAL))
    val reads = new FileReads(systems.sparkAlone.sparkContext)
    val data = form.data(options.data, options.scale)
    val tables = Queries.tables(queries)
    val verdicts = options.layouts.asScala.toSeq.flatMap { layout =>
      val partitioned = layout == "partitioned"
      // Only fact tables have two layouts.
      val those =
        if (partitioned)
          queries.filter(q => Queries.tables(Seq(q)).exists(_.partitionColumn.isDefined))
        else queries
      data.complete(systems.sparkAlone, tables, partitioned, progress)
      for (session <- Seq(systems.sparkAlone, systems.oap)) {
        data.register(session, tables, partitioned, StorageClass.LOCAL)
      }
      systems.clearCache()
      those.zipWithIndex.map { case (query, index) =>
        progress.show(s"$layout $query", index, those.length, "queries")
        val verdict = new Comparison(systems, reads, query, layout).verdict()
        // Said at once: the table comes only after all queries.
        if (!verdict.isGood) progress.say(s"$query $layout: ${verdict.verdict}")
        verdict
      }
    }
    progress.clear()
    verdicts
  }

  private def table(verdicts: Seq[Verdict]): String = {
    val header = Seq(
      "query",
      "fact tables",
      "rows",
      "hits cold",
      "hits warm",
      "data read cold",
      "data read warm",
      "log read warm",
      "steps of the plan",
      "rows of the two")
    val lines = verdicts.map { v =>
      val said = if (v.isGood) v.verdict else s"WRONG: ${v.verdict}"
      val numbers = Seq(v.rows.toLong, v.hitsCold, v.hitsWarm, v.readCold, v.readWarm)
      Seq(v.query, v.layout) ++ numbers.map(_.toString) ++
        Seq(v.logWarm.fold("")(_.toString), if (v.steps.isEmpty) "same" else v.steps, said)
    }
    TextTable.align(header +: lines)
  }

  /**
   * What became of one query in one layout.
   *
   * @param hitsCold column chunks found in the cache by the first run; earlier queries filled it
   * @param readCold bytes of data files that the first run read, as the file system counts
   * @param logWarm bytes of logs and deletion vectors, where the file system tells
   * @param steps what the plan of the warm run does otherwise than that of Spark alone
   */
  private final case class Verdict(
      query: String,
      layout: String,
      rows: Int,
      hitsCold: Long,
      hitsWarm: Long,
      readCold: Long,
      readWarm: Long,
      logWarm: Option[Long],
      steps: String,
      isGood: Boolean,
      verdict: String)

  /** One query, run by Spark alone and twice with the extension. */
  private final class Comparison(
      systems: Systems,
      reads: FileReads,
      query: String,
      layout: String) {
    private val text = Queries.text(query)

    private var side = "Spark alone"

    def verdict(): Verdict = {
      // Spark frees the broadcasts of earlier queries after a garbage collection only; hundreds of
      // queries behind each other would leave a small driver no memory for the next one.
      System.gc()
      try compared()
      catch {
        case NonFatal(e) =>
          val said = s"$side failed: ${e.toString.takeWhile(_ != '\n')}"
          Verdict(query, layout, 0, 0, 0, 0, 0, None, "", isGood = false, said)
      }
    }

    private def compared(): Verdict = {
      val (expected, alone) = run(systems.sparkAlone).result
      val counted = Seq.fill(2)(run(systems.oap))
      val actual = counted.map(_.result)
      val difference =
        actual.flatMap { case (rows, _) => RowComparison.difference(expected, rows) }.headOption
      val warm = counted.last
      val (isGood, said) = difference match {
        case None if actual.exists(_._2.scan.isEmpty) => (false, "the extension served no scan")
        case None if warm.bytes > 0 && Comparison.ReadNothing.contains(query) =>
          (false, s"the warm run read ${warm.bytes} bytes of data files")
        case None => (true, "same")
        case Some(_)
            if RowComparison.onlyTiesDiffer(
              systems.sparkAlone,
              systems.oap,
              text,
              actual.flatMap(_._1)) =>
          (true, "same, LIMIT cuts ties")
        case Some(what) => (false, what)
      }
      val hits = actual.map(_._2.metric("chunksHit"))
      val (cold, log) = (counted.head.bytes, warm.logBytes)
      val rows = expected.length
      val steps = PlanSteps.difference(alone.steps, warm.result._2.steps)
      Verdict(query, layout, rows, hits(0), hits(1), cold, warm.bytes, log, steps, isGood, said)
    }

    private def run(session: SparkSession): FileReads.Counted[(Seq[Row], QueryRun)] = {
      side = if (session eq systems.oap) "OAP" else "Spark alone"
      reads.during(QueryRun.of(session, query, text))
    }
  }

  private object Comparison {

    /** Queries whose warm runs must find all that they need in the pool. */
    private val ReadNothing = Options.NINE_QUERIES.split(",").toSet
  }
}
