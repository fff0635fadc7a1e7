package io.oap.spark

import org.apache.spark.sql.types.LongType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.ReadContext
import io.oap.cache.pool.{NativeLibrary, PoolOptions}
import io.oap.cache.stats.CacheCounters
import io.oap.cache.vector.VectorKind
import io.oap.common.{ChunkKey, FileId}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.vector.{PromotedChunk, Promotion, VectorType}

/** What an executor logs of its cache: one line when it opens it, and never one for each chunk. */
class CacheLogSuite extends CacheSuite {
  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "7m")

  test("one line when the cache is opened, and none while it works") {
    spark.range(0, 400000, 1, 4)
      .selectExpr("xxhash64(id) a", "xxhash64(id, 1) b", "xxhash64(id, 2) d", "id % 10 c")
      .write
      .option("parquet.enable.dictionary", "false")
      .options(rowGroupsOf(2000))
      .option("parquet.page.size.row.check.min", "2000")
      .parquet(path("t"))
    val (lines, counters) = counting(LogLines.ofOurs {
      for (representation <- Seq("encoded", "auto", "vector"); _ <- 1 to 2) {
        withConf("spark.oap.cache.representation" -> representation) {
          spark.read.parquet(path("t")).collect()
        }
        spark.read.parquet(path("t")).select("c").collect()
      }
    })
    // Of a suite before this one in the same JVM.
    val ofThisSuite = lines.filterNot(_ == "Column cache of the former application closed")
    assert(ofThisSuite === Seq(
      s"Column cache opened: a pool of ${7 << 20} bytes in anonymous memory, bound to no memory " +
        s"node, native library ${NativeLibrary.version()}"))
    assert(counters.chunksHit > 500 && counters.chunksMissed > 500)
    assert(CacheControl.localPool().get.evictions > 500, "nothing had to leave")
  }

  test("the pool of memory nodes names them") {
    assert(PoolOptions.onNodes(1 << 20, 5, false).place() === "memory of nodes 0,2")
    assert(
      PoolOptions.onNodes(1 << 20, 0, false).place() === "memory of the node that it is opened on")
  }

  test("row groups that cannot be turned into vector chunks are told of once") {
    val cache = ExecutorCache.get().get
    val key = ChunkKey.encoded(new FileId(1, 2), 0, 0)
    val form = VectorType(LongType, VectorKind.I64)
    val chunk = PromotedChunk(0, form, key, key, 8, isHeld = false)
    val lines = LogLines.ofOurs {
      for (fault <- Seq("first", "second", "third")) {
        val promotion = new Promotion(
          Seq(chunk),
          1,
          cache.vectors(),
          new ReadContext(new CacheCounters),
          throw new IllegalStateException(s"the $fault fault"))
        promotion.add(new ColumnarBatch(Array.empty[ColumnVector], 1))
      }
    }
    assert(lines.size === 1, lines)
    assert(lines.head.contains("the first fault"))
  }
}
