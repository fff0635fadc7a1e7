package io.oap.spark

import java.util.concurrent.{Callable, CyclicBarrier, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.SchedulingMode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}

import io.oap.spark.scan.CachedScanExec

/**
 * Nine users at once, each with a session and a FAIR scheduler pool of his own; one of them has the
 * cache switched off.
 */
class SessionsSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ Map(
      "spark.scheduler.mode" -> SchedulingMode.FAIR.toString,
      // Else a side that another user has built is not read again.
      "spark.oap.buildsides.enabled" -> "false"
    )

  private val Users = 9
  private val UserWithout = 4
  private val SecondsOfPatience = 300L

  private val queries = Seq(
    "SELECT day, sum(amount), count(note) FROM sales GROUP BY day" -> 1,
    "SELECT * FROM sales JOIN items USING (item) WHERE category = 3 AND day > 1" -> 2,
    "SELECT /*+ MERGE(i) */ category, count(*) FROM sales s JOIN items i ON s.item = i.item " +
      "GROUP BY category" -> 2
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, 20000, 1, 2).selectExpr(
      "id % 100 AS item",
      "id * 7 AS amount",
      "concat('note ', id) AS note",
      "id % 4 AS day").write.partitionBy("day").saveAsTable("sales")
    spark.range(0, 100, 1, 1).selectExpr("id AS item", "id % 10 AS category")
      .write.saveAsTable("items")
  }

  /** What a user was given for one query. */
  private case class Answer(rows: Seq[String], plan: SparkPlan) {
    def scansOfSpark: Int =
      collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }.size

    /** A metric of each cached scan. */
    def ofCached(metric: String): Seq[Long] = collectWithSubqueries(plan) {
      case CachedScanExec(scan, _) => scan.metrics(metric).value
    }
  }

  /** Has every user run all queries, beginning at the same time; their answers, user by user. */
  private def together(sessions: Seq[SparkSession]): Seq[Seq[Answer]] = {
    val threads = Executors.newFixedThreadPool(sessions.size)
    val begin = new CyclicBarrier(sessions.size)
    val users = sessions.zipWithIndex.map { case (session, user) =>
      new Callable[Seq[Answer]] {
        override def call(): Seq[Answer] = {
          spark.sparkContext.setLocalProperty("spark.scheduler.pool", s"user$user")
          begin.await(SecondsOfPatience, TimeUnit.SECONDS)
          queries.map { case (text, _) =>
            val query = session.sql(text)
            Answer(rows(query), query.queryExecution.executedPlan)
          }
        }
      }
    }
    try threads.invokeAll(users.asJava, SecondsOfPatience, TimeUnit.SECONDS).asScala.toSeq
        .map(_.get())
    finally threads.shutdownNow()
  }

  private def assertServed(answers: Seq[Answer], user: Int): Unit =
    for (((text, scans), answer) <- queries.zip(answers)) {
      val which = s"user $user: $text"
      assert(answer.scansOfSpark === 0, which)
      assert(answer.ofCached("bytesFromFile") === Seq.fill(scans)(0L), which)
      assert(answer.ofCached("chunksHit").forall(_ > 0), which)
    }

  private def assertAlone(answers: Seq[Answer]): Unit =
    for (((_, scans), answer) <- queries.zip(answers)) {
      assert(answer.scansOfSpark === scans)
      assert(answer.ofCached("chunksHit").isEmpty)
    }

  test("nine sessions at once, one of them without the cache") {
    val expected = alone(queries.map { case (text, _) => rows(spark.sql(text)) })
    CacheControl.clear(spark)
    val sessions = Seq.fill(Users)(spark.newSession())
    sessions(UserWithout).sql("SET spark.oap.cache.enabled=false")

    def checked(answers: Seq[Seq[Answer]], run: String): Seq[Seq[Answer]] = {
      for ((ofUser, user) <- answers.zipWithIndex; ((text, _), i) <- queries.zipWithIndex) {
        assertRows(ofUser(i).rows, expected(i), s"$run, user $user: $text")
      }
      answers
    }
    val cold = checked(together(sessions), "cold run")
    assertAlone(cold(UserWithout))
    val (warm, counters) = counting(checked(together(sessions), "warm run"))
    assertAlone(warm(UserWithout))
    val others = warm.indices.filter(_ != UserWithout)
    others.foreach(user => assertServed(warm(user), user))
    // What all readers of the process took from the pool, the eight took.
    assert(counters.chunksHit === others.flatMap(warm(_)).flatMap(_.ofCached("chunksHit")).sum)
    assert(counters.chunksMissed + counters.chunksBypassed === 0)

    for (user <- sessions.indices) {
      val pool = spark.sparkContext.getPoolForName(s"user$user")
      assert(pool.isDefined, "no job of this user ran in his pool")
    }
    assert(spark.sparkContext.getSchedulingMode === SchedulingMode.FAIR)
    sessions(UserWithout).sql("SET spark.oap.cache.enabled=true")
    together(sessions).zipWithIndex.foreach { case (answers, user) => assertServed(answers, user) }
  }
}
