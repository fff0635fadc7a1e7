package io.oap.tpcds.lake

import java.util.concurrent.{Executors, TimeUnit}

import scala.collection.concurrent.TrieMap
import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.oap.tpcds.{Options, Progress, Queries, RowComparison, StillPinned, Systems}
import io.oap.tpcds.data.DataFolder
import io.oap.tpcds.result.{Bars, QueryRun}
import io.oap.tpcds.scale.Job
import io.oap.tpcds.storage.StorageClass

/**
 * Minutes of queries while a table of Iceberg or Delta is changed every few seconds. The rows are
 * those of Spark alone on the same version, and chunks of files that did not change stay. Started by
 * dev/lake-commits.
 */
object LakeCommits {

  /** Percent of the chunks asked for again that have to be there. */
  private val HitsAgain = 95.0

  def main(arguments: Array[String]): Unit = Job.exit {
    val options = Options.parse(Options.Command.COMMITS, arguments.toSeq.asJava)
    TableForm.named(options.form) match {
      case form @ (_: Iceberg | _: Delta) =>
        val bars = new Bars(println(_))
        new LakeCommits(options, form.asInstanceOf[LakeForm]).run(bars)
        if (bars.areReached) 0 else 1
      case _ =>
        throw new Options.Rejected(
          s"--form ${options.form} knows no MERGE; say one of Iceberg or Delta")
    }
  }
}

private final class LakeCommits(options: Options, form: LakeForm) {
  private val progress = Progress.ofTerminal()
  private val random = new Random(options.seed.toLong)
  private val queries = options.queries.asScala.toSeq
  private val systems =
    Systems.start(form.settings(options.data, options.scale, StorageClass.LOCAL))
  private val source = new DataFolder(options.data, options.scale)
  private val sides = Seq(systems.sparkAlone, systems.oap)
  private val failed = TrieMap.empty[Int, String]
  private val differences = ArrayBuffer.empty[String]

  def run(bars: Bars): Unit = {
    progress.say(s"seed ${options.seed}")
    val data = form.data(options.data, options.scale)
    val tables = Queries.tables(queries)
    data.complete(systems.sparkAlone, tables, partitioned = false, progress)
    sides.foreach(data.register(_, tables, partitioned = false, StorageClass.LOCAL))
    val folder = new Path(new Path(source.folder, form.word), "changing_store_sales")
    val files = folder.getFileSystem(systems.oap.sparkContext.hadoopConfiguration)
    files.delete(folder, true)
    try changed(folder, bars)
    finally files.delete(folder, true): Unit
  }

  private def changed(folder: Path, bars: Bars): Unit = {
    val store = LakeFolder.sessionOf(systems.sparkAlone).read
      .parquet(new Path(source.folder, "store_sales").toString)
    val changing =
      new ChangingLakeTable(form, store, folder, sides.map(_.newSession()), random)
    val asked = new AskedChunks
    try {
      // All that the queries need of the files that are there.
      queries.foreach(check(changing, _))
      val (commits, ran) = whileChanging(changing)
      queries.foreach(check(changing, _))
      val counted = asked.counted()
      progress.say(
        s"$commits commits, ${ran + 2 * queries.size} queries, ${counted.asks} asks for " +
          s"chunks, ${counted.again} of them for chunks asked for before")
      bars.none("commits that failed", failed.values.toSeq)
      bars.atLeast("commits", commits.toDouble, 1)
      bars.none("rows that differ from Spark alone", differences.toSeq)
      bars.atLeast(
        "percent of hits among chunks asked for again",
        counted.percent,
        LakeCommits.HitsAgain)
      bars.none("executors with pinned chunks", StillPinned.executors(systems.oap))
    } finally asked.close()
  }

  /** @return how many commits were made, and how many queries ran */
  private def whileChanging(changing: ChangingLakeTable): (Int, Int) = {
    val deadline = options.minutes.minutes.fromNow
    val commits = Executors.newSingleThreadScheduledExecutor()
    var made, ran = 0
    def commit(): Unit = {
      made += 1
      val what = Try(changing.change()).recover { case e =>
        failed.put(made, e.toString.takeWhile(_ != '\n'))
        s"FAILED: ${e.toString.takeWhile(_ != '\n')}"
      }
      progress.synchronized(progress.say(s"commit $made: ${what.get}"))
    }
    try {
      commits.scheduleAtFixedRate(() => commit(), 0, options.every.toLong, TimeUnit.SECONDS)
      while (deadline.hasTimeLeft()) {
        check(changing, queries(random.nextInt(queries.length)))
        ran += 1
      }
    } finally {
      commits.shutdown()
      commits.awaitTermination(5, TimeUnit.MINUTES): Unit
    }
    (made, ran)
  }

  /** Runs a query on the newest version by both, and compares. */
  private def check(changing: ChangingLakeTable, query: String): Unit = {
    val version = changing.version
    def run(session: SparkSession) = {
      changing.show(session, version)
      QueryRun.of(session, query)
    }
    val said = Try {
      val (expected, _) = run(systems.sparkAlone)
      val (actual, ran) = run(systems.oap)
      RowComparison.difference(expected, actual)
        .orElse(Option.when(ran.scan.isEmpty)("the extension served no scan"))
    }.fold(e => Some(e.toString.takeWhile(_ != '\n')), identity)
    said.foreach { what =>
      differences += s"$query, version $version: $what"
      progress.synchronized(progress.say(s"$query, version $version: $what"))
    }
  }
}
