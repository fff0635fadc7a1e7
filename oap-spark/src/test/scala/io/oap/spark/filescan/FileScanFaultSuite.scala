package io.oap.spark.filescan

import java.io.IOException
import java.nio.ByteBuffer

import io.oap.common.ChunkKey
import io.oap.spark.{CacheControl, DamagedPool, WatchedFileSystem}

/** V1 scans whose cache fails them. */
class FileScanFaultSuite extends FileScanSuite {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.size" -> "2m")

  private lazy val table: String = {
    spark.range(0, 200000, 1, 1).selectExpr("id", "uuid() as s", "hash(id) as h")
      .write.options(rowGroupsOf(50000)).parquet(watched("table"))
    watched("table")
  }

  private def read(columns: String*) =
    spark.read.parquet(table).selectExpr(columns :+ "_metadata.file_name": _*)

  test("a pool that is full") {
    def all = spark.read.parquet(table)
      .selectExpr("sum(id + length(_metadata.file_name))", "max(s)", "min(h)")
    assert(cachedFileScans(executed(all)).nonEmpty)
    for (_ <- 1 to 3) assertSameRows(all)
    val (_, counters) = counting(rows(all))
    assert(counters.chunksBypassed > 0)
  }

  test("a damaged chunk") {
    withConf("spark.oap.cache.representation" -> "encoded") {
      def ids = read("id % 1000 as i", "h").where("i < 5")
      assertSameRows(ids)
      val expected = alone(rows(ids))
      DamagedPool.damage(_.representation == ChunkKey.ENCODED)((bytes: ByteBuffer) =>
        for (i <- 0 until bytes.remaining by 7) bytes.put(i, (bytes.get(i) ^ 0x5a).toByte): Unit)
      val (damaged, counters) = counting(rows(ids))
      assertRows(damaged, expected, "with damage")
      assert(counters.bytesFromFile > 0)
      assertRows(rows(ids), expected, "after damage")
    }
  }

  test("a file that cannot be read fails the query as it fails Spark alone, and nothing else") {
    def ids = spark.read.schema("id BIGINT").parquet(table).select("id", "_metadata.file_name")
    def broken = WatchedFileSystem.beforeReads(_ => throw new IOException("broken"))(outcome(ids))
    val expected = alone(broken)
    CacheControl.clear(spark)
    assert(expected.isLeft)
    assertOutcome(broken, expected, "with faults")
    assertServedByFiles(ids)
    WatchedFileSystem.beforeReads(_ => throw new IOException("broken")) {
      assert(outcome(ids).isRight, "a warm query reads no file")
    }
  }

  test("a query that is stopped early holds nothing") {
    assert(read("id").limit(3).collect().length === 3)
    assertNothingPinned()
  }
}

/** V1 scans of an executor that could not open its pool. */
class FileScanWithoutPoolSuite extends FileScanSuite {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.path" -> "/proc/no-such-folder")

  test("they read as Spark alone does") {
    spark.range(0, 1000, 1, 2).write.parquet(watched("t"))
    def query = spark.read.parquet(watched("t")).select("id", "_metadata.file_name")
    assert(cachedFileScans(executed(query)).nonEmpty)
    val counters = assertSameRows(query)
    assert(counters.chunksAsked === 0)
  }
}
