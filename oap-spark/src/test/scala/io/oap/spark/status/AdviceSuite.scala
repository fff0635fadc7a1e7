package io.oap.spark.status

import scala.util.Random

import org.apache.spark.sql.Row

import io.oap.spark.{CacheControl, CacheSuite, ExtendedTest}

/** What `oap.system.advice` says of other capacities, against applications that have them. */
@ExtendedTest
class AdviceSuite extends CacheSuite {
  private val Capacity = 8L << 20
  private val Files = 8

  override protected def settings: Map[String, String] = sized(100, "encoded")

  // Two tasks at once would ask in another order each time, which alone changes what is hit by up to
  // three points.
  private def sized(percent: Int, representation: String): Map[String, String] = Map(
    "spark.master" -> "local[1]",
    "spark.oap.pool.size" -> (Capacity * percent / 100).toString,
    "spark.oap.cache.representation" -> representation)

  private def restart(percent: Int, representation: String): Unit = {
    spark.stop()
    spark = newApplication(sized(percent, representation))
  }

  /** Twenty megabytes in 512 chunks that no codec makes smaller. */
  private def write(): Unit = spark
    .range(0, Files * 40000, 1, Files)
    .selectExpr("id" +: (0 until 8).map(c => s"xxhash64(id, $c) AS c$c"): _*)
    .write
    .option("compression", "none")
    .option("parquet.enable.dictionary", "false")
    .option("parquet.block.row.count.limit", "5000")
    .parquet(path("t"))

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    write()
  }

  // Given with each query, whose files would else be read for it.
  private lazy val schema = spark.read.parquet(path("t")).schema

  private def files: Seq[String] =
    folder.resolve("t").toFile.list().filter(_.endsWith(".parquet")).sorted.toSeq

  /** Queries of a few columns of a few files, some of them more often than others. */
  private def work(seed: Long): Unit = {
    val random = new Random(seed)
    def skewed(n: Int) = (n * math.pow(random.nextDouble(), 2)).toInt
    for (_ <- 1 to 60) {
      val some = Seq.fill(2)(files(skewed(Files))).distinct.map(file => path(s"t/$file"))
      val columns = Seq.fill(3)(skewed(8)).distinct.map(c => s"max(c$c)")
      spark.read.schema(schema).parquet(some: _*).selectExpr(columns: _*).collect()
    }
  }

  private def advice(executor: String): Seq[Row] = spark.sql(
    "SELECT capacity_bytes, change_bytes, hit_ratio, hit_ratio_change, asked_bytes, advice " +
      s"FROM oap.system.advice WHERE executor_id = '$executor' ORDER BY capacity_bytes")
    .collect().toSeq

  for ((representation, others) <- Seq(
      "encoded" -> Seq(50 -> 1, 150 -> 5, 200 -> 6),
      "auto" -> Seq(150 -> 5))) {
    test(s"estimates are what applications of those capacities hit, $representation") {
      restart(100, representation)
      val seed = System.nanoTime()
      info(s"seed $seed")
      val (_, counters) = counting(work(seed))
      val rows = advice("driver")
      val capacities = rows.map(_.getLong(0))
      assert(capacities.size === 9 && capacities(3) === Capacity)
      assert(rows.map(_.getLong(1)) === capacities.map(_ - Capacity))
      assert(advice(Advice.All) === rows, "one executor is all of them")
      if (representation == "encoded") {
        val held = rows(3).getDouble(2) * rows(3).getLong(4)
        assert(math.abs(held - counters.bytesFromPool) < 1, "what readers took from the pool")
      }
      assert(rows(3).getDouble(3) === 0.0)
      assert(rows(3).getString(5).startsWith("as it is: "))
      assert(rows.head.getString(5).startsWith("-6.0 MiB: -"))
      assert(rows.last.getString(5).startsWith("+24.0 MiB: +"))
      for ((percent, index) <- others) {
        restart(percent, representation)
        val (_, there) = counting(work(seed))
        val real = there.bytesFromPool.toDouble / (there.bytesFromPool + there.bytesFromFile)
        info(f"$percent %%: ${rows(index).getDouble(2)}%.3f estimated, $real%.3f real")
        assert(math.abs(rows(index).getDouble(2) - real) <= 0.03, s"$percent % with seed $seed")
      }
    }
  }

  test("warming is not asking, and a new capacity or an empty pool begins anew") {
    val table = s"parquet.`${path("t")}`"
    spark.sql(s"CREATE TABLE warmed USING parquet LOCATION '${path("t")}'")
    spark.sql("CALL oap.system.clear()")
    assert(advice(Advice.All).forall(_.isNullAt(2)), "nothing was asked for")
    assert(advice(Advice.All).forall(_.getString(5) === "nothing was asked for yet"))
    spark.sql("CALL oap.system.warm('warmed', array('c0'), null)").collect()
    assert(advice(Advice.All).forall(_.getLong(4) === 0))
    spark.sql(s"SELECT max(c0) FROM $table").collect()
    val warm = advice(Advice.All)
    assert(warm(3).getDouble(2) === 1.0, "what was warmed was found")
    assert(warm.last.getDouble(2) === 1.0, "with more room as well")
    assert(warm.head.getDouble(2) <= 1.0)
    val bytes = 4 * warm(3).getLong(0)
    spark.sql(s"CALL oap.system.resize($bytes)").collect()
    val resized = advice(Advice.All)
    assert(resized(3).getLong(0) === bytes && CacheControl.localPool().get.capacityBytes === bytes)
    assert(resized.forall(_.getLong(4) === 0))
    spark.sql(s"SELECT max(c0) FROM $table").collect()
    assert(advice(Advice.All)(3).getDouble(2) === 1.0)
  }
}
