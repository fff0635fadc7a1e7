package io.oap.spark.read

import java.nio.file.Files

import org.apache.spark.sql.DataFrame

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.{CacheControl, CacheSuite}

/** Queries over a pool that is too small for them, with a file tier below it that is not. */
class TierSuite extends CacheSuite {

  /** Which chunks are copied down depends on when the tier's thread comes to them. */
  private val MostRounds = 300

  override protected def settings: Map[String, String] = {
    val disk = Files.createTempDirectory("oap-tier")
    disk.toFile.deleteOnExit()
    Map("spark.oap.pool.tiers" -> s"dram:4m, file:$disk:128m")
  }

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "id % 7 as k" +: (1 to 6).map(i => s"xxhash64(id, $i) as c$i")
    alone {
      spark.range(0, 200000, 1, 2).selectExpr(columns: _*).write
        .options(rowGroupsOf(10000))
        .parquet(path("t"))
    }
  }

  private def query: DataFrame =
    spark.read.parquet(path("t")).groupBy("k").agg(
      "c1" -> "max",
      "c2" -> "min",
      "c3" -> "bit_xor",
      "c4" -> "max",
      "c5" -> "min",
      "c6" -> "bit_xor")

  for (representation <- Seq("auto", "encoded", "vector")) {
    test(s"$representation: what leaves the pool comes from the tier") {
      withConf("spark.oap.cache.representation" -> representation) {
        val expected = alone(rows(query))
        CacheControl.clear(spark)
        var rounds = 0
        var counters = round(expected)
        assert(counters.get(Figure.HITS_FROM_TIER) === 0)
        while (counters.bytesFromFile > 0) {
          rounds += 1
          assert(rounds < MostRounds, CacheControl.localPool().toString)
          counters = round(expected)
        }
        assert(counters.get(Figure.HITS_FROM_TIER) > 20)
        assert(counters.get(Figure.BYTES_FROM_TIER) > (1 << 20))
        info(s"after $rounds rounds: ${CacheControl.localPool().map(_.tier)}")
      }
    }
  }

  private def round(expected: Seq[String]): CacheCounters = {
    val (found, counters) = counting(rows(query))
    assertRows(found, expected, "a run")
    counters
  }
}
