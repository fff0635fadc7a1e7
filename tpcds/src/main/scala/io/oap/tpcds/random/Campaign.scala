package io.oap.tpcds.random

import java.nio.file.Path
import java.time.Duration

import org.apache.spark.sql.SparkSession

import io.oap.spark.CacheControl
import io.oap.tpcds.StillPinned

/**
 * Rounds of random stars and queries until the time is over. In a round two workers each make a star
 * and run its queries, alone, cold, promoted and warm; then both run all of them once more in a pool
 * that is far too small. After that no chunk may be pinned.
 */
final class Campaign(request: RandomRequest, say: String => Unit) {
  private val spark = SparkSession.builder().appName("OAP random queries").getOrCreate()
  private val tally = new Tally(say)
  private val workers = new Workers(spark, tally, say)
  private val judge = new FileJudge(request.judge, Path.of(request.work))

  private def isJudged: Boolean = Form.named(request.form).isJudged

  /** @return whether all was right */
  def run(): Boolean = {
    say(s"seed ${request.seed}")
    var number = 0
    try
      while (number == 0 || !isOver(Duration.ZERO)) {
        val before = tally.queriesDone
        round(number)
        if (tally.queriesDone == before) throw new IllegalStateException("a round had no query")
        number += 1
        say(s"${tally.counts}; what comes next: --seed ${seed(number)}")
      }
    finally {
      workers.close()
      spark.stop()
    }
    say(tally.report)
    tally.wrong.foreach(say)
    if (tally.wrong.isEmpty) say("All rows are right.")
    tally.wrong.isEmpty
  }

  /** Whether no query may begin that leaves less time than this. */
  private def isOver(needed: Duration): Boolean = {
    val left = Duration.ofMinutes(request.minutes.toLong).minus(workers.age)
    (request.minutes > 0 && left.compareTo(needed) < 0) ||
    (request.queries > 0 && tally.queriesDone >= request.queries)
  }

  /** The first star that no round before this one has made. */
  private def seed(round: Int): Long = request.seed + round * workers.all.size

  /** So that rounds of one seed and number of queries have the same ones. */
  private def perStar: Int =
    if (request.queries == 0) request.perStar
    else {
      val left = request.queries - tally.queriesDone + workers.all.size - 1
      math.min(request.perStar, left / workers.all.size).toInt
    }

  private def round(number: Int): Unit = {
    val begun = workers.age
    val perStar = this.perStar
    val stars = workers.all.indices.map { i =>
      val seed = this.seed(number) + i
      val folder = Path.of(request.work).resolve(Star.name(seed)).toAbsolutePath
      val star = new Star(seed, folder.toString, Form.named(request.form))
      new StarRun(star, folder, Path.of(request.failures), tally)
    }
    // The pool that is too small takes its part of the time, too.
    def isLate: Boolean = isOver(workers.age.minus(begun).dividedBy(4))
    workers.each(stars) { (worker, star) =>
      workers.protect(star.seed, worker) {
        star.make(worker)
        (0 until perStar).iterator.takeWhile(i => i < Campaign.Fewest || !isLate)
          .foreach(star.run(worker, _))
        if (isJudged) judge.dump(worker, star.star)
      }
    }
    if (isJudged) judge.compare().foreach { said =>
      tally.fail(Failed(stars.head.seed, "files", "all columns of each table", said))
    }
    val vectorChunks = spark
      .sql("SELECT count(*) FROM oap.system.chunks WHERE representation = 'vector'")
      .head()
      .getLong(0)
    inTinyPool(stars)
    tally.pool(vectorChunks, CacheControl.localPool().fold(0L)(_.evictions()))
    StillPinned.executors(spark).foreach(said =>
      tally.fail(Failed(stars.head.seed, "pins", "", said)))
    stars.foreach(_.drop(workers.all.head))
  }

  /** Both workers run queries of both stars, so that they evict what the other one has just loaded. */
  private def inTinyPool(stars: Seq[StarRun]): Unit = {
    resize(Campaign.TinyPool)
    val all = for (star <- stars; (query, expected) <- star.queries) yield (star, query, expected)
    val halves = all.zipWithIndex.partitionMap { case (one, i) =>
      if (i % 2 == 0) Left(one) else Right(one)
    }
    workers.each(Seq(halves._1, halves._2)) { (worker, half) =>
      half.foreach { case (star, query, expected) =>
        worker.use(star.star)
        star.check(worker, query, expected, "tiny")
      }
    }
    resize(request.pool)
  }

  private def resize(bytes: Long): Unit =
    workers.all.head.execute(Seq(s"CALL oap.system.resize(bytes => $bytes)"))
}

private object Campaign {

  /** The smallest that there is. */
  val TinyPool: Long = 1L << 20

  /** Queries of a star, however little time there is. */
  val Fewest = 5
}
