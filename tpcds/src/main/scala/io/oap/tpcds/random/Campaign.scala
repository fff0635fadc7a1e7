package io.oap.tpcds.random

import java.nio.file.Path
import java.time.{Duration, Instant}
import java.util.concurrent.{Executors, ExecutorService}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession

import io.oap.tpcds.cluster.Application

/**
 * Rounds of random stars and queries until the time is over. In a round two threads each make a star
 * and run its queries, alone, cold, promoted and warm; then both run all of them once more in a pool
 * that is far too small. After that no chunk may be pinned.
 */
final class Campaign(request: RandomRequest, say: String => Unit) {
  private val spark = SparkSession.builder().appName("OAP random queries").getOrCreate()
  private val tally = new Tally
  private val workers = Seq.fill(2)(new Worker(spark.newSession()))
  private val begun = Instant.now()
  private val judge = new FileJudge(request.judge, Path.of(request.work))

  /** @return whether all was right */
  def run(): Boolean = {
    say(s"seed ${request.seed}")
    val threads = Executors.newFixedThreadPool(workers.size)
    var round = 0
    try
      while (round == 0 || !isOver(Duration.ZERO)) {
        this.round(round)(ExecutionContext.fromExecutorService(threads))
        round += 1
      }
    finally end(threads)
    say(tally.table)
    tally.failures.foreach { f =>
      say(s"\nFAILED (${f.run}), star ${f.star}: --seed ${f.star}\n${f.query}\n${f.difference}")
    }
    verdict()
  }

  private def end(threads: ExecutorService): Unit = {
    threads.shutdownNow()
    spark.stop()
  }

  private def verdict(): Boolean = {
    val wrong = Seq(
      tally.failures.nonEmpty -> s"${tally.failures.size} runs were wrong",
      (tally.chunksHit == 0) -> "no chunk came from the pool",
      tally.neverServed.nonEmpty -> s"never through the cache: ${tally.neverServed.mkString(", ")}"
    ).collect { case (true, what) => what }
    say(if (wrong.isEmpty) "All rows are right." else wrong.mkString("\n"))
    wrong.isEmpty
  }

  /** Whether no query may begin that leaves less time than this. */
  private def isOver(needed: Duration): Boolean = {
    val end = begun.plus(Duration.ofMinutes(request.minutes.toLong)).minus(needed)
    (request.minutes > 0 && Instant.now().isAfter(end)) ||
    (request.queries > 0 && tally.queriesDone >= request.queries)
  }

  private def round(number: Int)(implicit threads: ExecutionContext): Unit = {
    val roundBegun = Instant.now()
    val stars = workers.indices.map { i =>
      val seed = request.seed + number * workers.size + i
      val folder = Path.of(request.work).resolve(s"star-$seed").toAbsolutePath
      new StarRun(new Star(seed, folder.toString), folder, Path.of(request.failures), tally)
    }
    // The pool that is too small takes its part of the time, too.
    def isLate: Boolean = isOver(Duration.between(roundBegun, Instant.now()).dividedBy(4))
    each(workers.zip(stars)) { case (worker, star) =>
      protect(star.star.seed, worker) {
        star.make(worker)
        (0 until request.perStar).iterator.takeWhile(i => i < Campaign.Fewest || !isLate)
          .foreach(star.run(worker, _))
        judge.dump(worker, star.star)
      }
    }
    judge.compare().foreach { said =>
      tally.fail(Failed(stars.head.star.seed, "files", "all columns of each table", said))
    }
    resize(Campaign.TinyPool)
    val all = for (star <- stars; (query, expected) <- star.queries) yield (star, query, expected)
    val divided = all.zipWithIndex.groupMap(_._2 % workers.size)(_._1)
    each(workers.zipWithIndex) { case (worker, i) =>
      divided.getOrElse(i, Nil).foreach { case (star, query, expected) =>
        worker.use(star.star)
        star.check(worker, query, expected, "tiny")
      }
    }
    requireNoPins(stars.head.star.seed)
    resize(request.pool)
    stars.foreach(_.drop(workers.head))
  }

  /** Lets what is no run of a query fail alone. */
  private def protect(seed: Long, worker: Worker)(body: => Unit): Unit =
    try body
    catch {
      case NonFatal(e) => tally.fail(Failed(seed, "statement", worker.now._1, e.toString))
    }

  /** Does it on a thread for each, and tells how far all is meanwhile. */
  private def each[T](of: Seq[T])(body: T => Unit)(implicit threads: ExecutionContext): Unit = {
    val running = of.map(one => Future(body(one)))
    while (!running.forall(_.isCompleted)) {
      Await.ready(Future(Thread.sleep(1000))(ExecutionContext.global), 1.minute)
      tell()
    }
    running.foreach(Await.result(_, Duration.ZERO.toMillis.millis))
  }

  private var told = Instant.MIN

  private def tell(): Unit = {
    if (Instant.now().isAfter(told.plusSeconds(10))) {
      told = Instant.now()
      say(tally.progress(Duration.between(begun, told).toSeconds))
    }
    workers.map(_.now).find(_._2.isBefore(Instant.now().minus(Campaign.Patience))).foreach {
      case (sql, since) => throw new IllegalStateException(s"running since $since: $sql")
    }
  }

  private def resize(bytes: Long): Unit =
    workers.head.execute(Seq(s"CALL oap.system.resize(bytes => $bytes)"))

  private def requireNoPins(star: Long): Unit = {
    def pinned: Long =
      spark.sql("SELECT sum(pinned_bytes) FROM oap.system.executors").head().getLong(0)
    try Application.waitFor("end of all pins")(pinned == 0)
    catch {
      case e: IllegalStateException =>
        tally.fail(Failed(star, "pins", "", s"${e.getMessage}: $pinned bytes are pinned"))
    }
  }
}

private object Campaign {

  /** The smallest that there is. */
  val TinyPool: Long = 1L << 20

  /** Queries of a star, however little time there is. */
  val Fewest = 5

  /** A query that takes longer hangs. */
  val Patience: Duration = Duration.ofMinutes(5)
}
