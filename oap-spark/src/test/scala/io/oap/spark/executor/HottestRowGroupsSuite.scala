package io.oap.spark.executor

import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._

import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.common.{ChunkKey, EntryKind, FileId, FileIdentity}
import io.oap.spark.CacheSuite

/** What an executor tells of how often its chunks were asked for. */
class HottestRowGroupsSuite extends CacheSuite {

  private def told(bytesByAsks: Long*): HotRowGroups =
    HotRowGroups(Array.empty, Array.empty, Array.empty, Array.empty, bytesByAsks.toArray)

  test("bytes that were asked for so often, or are pinned, are those that stay for less") {
    val some = told(1, 2, 4, 8)
    assert(some.bytesAskedFor(-1) === 15 && some.bytesAskedFor(0) === 15)
    assert(some.bytesAskedFor(1) === 14 && some.bytesAskedFor(1.5) === 12)
    assert(some.bytesAskedFor(3) === 8)
    assert(some.bytesAskedFor(1e9) === 8, "what is pinned leaves for nothing")
  }

  test("all chunks of the pool count, also where few row groups are told") {
    spark.range(1000).selectExpr("id", "id * 2 AS x").write.parquet(path("told"))
    for (_ <- 1 to 4) spark.read.parquet(path("told")).collect()
    val cache = ExecutorCache.get().get
    val bytes = cache.snapshot().chunks.asScala.map(_.bytes).sum
    val none = HottestRowGroups.of(cache, bytes = 0, most = 10)
    assert(none.files.isEmpty && none.bytesByAsks.sum === bytes)
    val all = HottestRowGroups.of(cache, bytes, most = 10)
    assert(all.bytes.sum === bytes && all.bytesAskedFor(2) === bytes)
  }

  test("what is never copied takes room as well") {
    val cache = ExecutorCache.get().get
    val before = HottestRowGroups.of(cache, Long.MaxValue, most = 10)
    val large = new FileIdentity("file:/large", 1, 1, "")
    cache.files.add(large.id, () => new KnownFile(large, Seq("a").asJava, Array(4L), Array(1)))
    val batch =
      new ChunkKey(new FileId(1, 1), 0, 0, EntryKind.CACHED_BATCH.representation(0)) -> 1000
    val others = Seq(
      ChunkKey.encoded(new FileId(1, 2), 0, 0) -> 2000, // of a file that is not known
      ChunkKey.encoded(large.id, 0, 0) -> ((64 << 20) + 1)
    )
    val owned = (batch +: others).map { case (key, bytes) =>
      cache.owned.put(key, ByteBuffer.allocate(bytes))
    }
    try {
      val after = HottestRowGroups.of(cache, Long.MaxValue, most = 10)
      assert(after.files.toSeq === before.files.toSeq)
      val sums = after.bytesByAsks.lazyZip(before.bytesByAsks).map(_ - _)
      assert(sums.last === 1000, "a cached batch leaves for nothing")
      assert(sums.init.sum === others.map(_._2).sum)
    } finally owned.foreach(_.close())
  }
}
