package io.oap.spark

import scala.util.Random

import org.apache.spark.sql.DataFrame

/**
 * Random tables and queries give the rows, or the errors, that they give without the cache.
 *
 * Spark alone fails now and then: it asks a page without any value, delta-encoded, to skip none of
 * them, which that decoder refuses.
 *
 * The seeds are the same each time, so that a failure tells about the change that is tested.
 * System properties, for a build by way of JAVA_TOOL_OPTIONS, take it elsewhere: `oap.seed` is the
 * seed of the first round, `oap.seconds` says how long to go on.
 */
abstract class RandomDifferentialSuite extends CacheSuite {

  /** How many rows a table has. */
  protected def rowCount(random: Random): Int

  /** Compares a query with Spark alone; returns how many chunks the pool gave. */
  protected def compare(query: => DataFrame): Long

  private val firstSeed: Long = java.lang.Long.getLong("oap.seed", 1)
  private val nanos: Long = Integer.getInteger("oap.seconds", 30) * 1000000000L

  test("random tables and queries") {
    info(s"first seed $firstSeed")
    val deadline = System.nanoTime() + nanos
    var rounds = 0
    var hits = 0L
    while (rounds == 0 || System.nanoTime() < deadline || (!hasSeenEnough && rounds < 100)) {
      hits += round(firstSeed + rounds)
      rounds += 1
    }
    info(s"$rounds rounds, $hits chunks from the pool")
    assert(hits > 0)
    assert(hasSeenEnough)
  }

  /** Whether what the suite is for has happened; a slow machine goes on until then. */
  protected def hasSeenEnough: Boolean = true

  private def round(seed: Long): Long = {
    val random = new Random(seed)
    val table = new RandomTable(random, rowCount(random))
    withClue(s"seed $seed, table $table: ") {
      val files = path(s"random$seed")
      withConf(table.writeSettings: _*)(table.write(spark, files))
      Seq.fill(5)(queryRound(random, table, files)).sum
    }
  }

  private def queryRound(random: Random, table: RandomTable, files: String): Long = {
    def share(percent: Int): String = (random.nextInt(100) < percent).toString
    def oneOf(choices: String*): String = choices(random.nextInt(choices.size))
    val sessionSettings = Seq(
      "spark.sql.parquet.enableVectorizedReader" -> share(95),
      "spark.sql.parquet.enableNestedColumnVectorizedReader" -> share(85),
      "spark.sql.parquet.filterPushdown" -> share(90),
      "spark.sql.parquet.columnarReaderBatchSize" -> oneOf("3", "100", "4096"),
      "spark.sql.parquet.aggregatePushdown" -> share(30),
      "spark.sql.optimizer.nestedSchemaPruning.enabled" -> share(85),
      "spark.sql.columnVector.offheap.enabled" -> share(20),
      "spark.sql.codegen.wholeStage" -> share(30),
      "spark.sql.files.maxPartitionBytes" -> oneOf("60k", "1m", "128m"),
      "spark.sql.files.openCostInBytes" -> "1k",
      "spark.sql.sources.useV1SourceList" -> oneOf("parquet", "parquet", ""),
      "spark.oap.cache.representation" -> oneOf("auto", "encoded", "vector", "vector")
    )
    val readOptions = Map(
      // Spark alone may give wrong bytes of strings that are delta-encoded and not compressed: its
      // decoder forgets the array offset of buffers that come out of a vectored read.
      "parquet.hadoop.vectored.io.enabled" -> "false",
      "parquet.filter.columnindex.enabled" -> share(85),
      "parquet.filter.stats.enabled" -> share(85),
      "parquet.filter.dictionary.enabled" -> share(85),
      "parquet.filter.bloom.enabled" -> share(85),
      "parquet.page.verify-checksum.enabled" -> share(50)
    )
    val query = new RandomQuery(random, table)
    withClue(s"$query, $sessionSettings, $readOptions: ") {
      withConf(sessionSettings: _*) {
        compare(query(spark.read.schema(table.schema).options(readOptions).parquet(files)))
      }
    }
  }
}

/** With a pool that holds everything: alone, cold, warm, and with what became vector chunks. */
class RandomWarmSuite extends RandomDifferentialSuite {
  override protected def rowCount(random: Random): Int = 1 + random.nextInt(1500)

  override protected def compare(query: => DataFrame): Long =
    counting {
      val expected = assertSameOutcome(query)
      assertOutcome(outcome(query), expected, "third run")
    }._2.chunksHit
}

/** With a pool that is far too small, so that what one task loads evicts what another one wants. */
class RandomTinyPoolSuite extends RandomDifferentialSuite {
  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "1m")

  override protected def rowCount(random: Random): Int = 3000 + random.nextInt(3000)

  override protected def compare(query: => DataFrame): Long = {
    val expected = alone(outcome(query))
    val (_, counters) = counting {
      assertOutcome(outcome(query), expected, "first run")
      assertOutcome(outcome(query), expected, "second run")
    }
    counters.chunksHit
  }

  override protected def hasSeenEnough: Boolean =
    CacheControl.localPool().exists(_.evictions() > 0)
}
