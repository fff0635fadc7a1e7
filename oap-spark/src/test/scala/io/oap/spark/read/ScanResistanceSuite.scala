package io.oap.spark.read

import io.oap.cache.stats.CacheCounters
import io.oap.spark.CacheSuite

/** Queries that come again and again, between scans of all columns of a table four pools large. */
abstract class SweptPoolSuite(policy: String) extends CacheSuite {
  override protected def settings: Map[String, String] =
    Map("spark.oap.pool.size" -> "16m", "spark.oap.pool.policy" -> policy)

  /** Eight files of `rowCount` rows with eight columns of eight bytes that no codec makes smaller. */
  private def write(name: String, rowCount: Long): Unit = spark
    .range(0, 8 * rowCount, 1, 8)
    .selectExpr((0 until 8).map(c => s"xxhash64(id, $c) AS c$c"): _*)
    .write
    .option("compression", "none")
    .option("parquet.enable.dictionary", "false")
    .option("parquet.block.row.count.limit", "8000")
    .parquet(path(name))

  private def read(name: String, columns: Range): CacheCounters =
    counting(
      spark.read.parquet(path(name)).selectExpr(columns.map(c => s"max(c$c)"): _*).collect())._2

  protected lazy val hitRatio: Double = {
    write("dashboards", 8000)
    write("archive", 128000)
    def queries = Seq(0 to 3, 2 to 5, 1 to 1).map(read("dashboards", _))
    (1 to 3).foreach(_ => queries)
    val between = (1 to 4).flatMap { _ =>
      assert(read("archive", 0 to 7).bytesFromFile > (64L << 20) / 2, "the archive fits in")
      queries
    }
    val hits = between.map(_.chunksHit).sum.toDouble
    hits / between.map(_.chunksAsked).sum
  }
}

class ScanResistanceSuite extends SweptPoolSuite("s3fifo") {
  test("a scan of a whole large table does not sweep the pool") {
    assert(hitRatio > 0.95)
  }
}

/** What the other suite would say of a pool that is swept. */
class SweptByLruSuite extends SweptPoolSuite("lru") {
  test("LRU keeps nothing through such a scan") {
    // The queries have columns in common.
    assert(hitRatio < 0.6)
  }
}
