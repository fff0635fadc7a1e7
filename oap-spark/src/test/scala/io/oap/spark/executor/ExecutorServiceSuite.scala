package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.spark.CacheSuite

/** What an executor's cache does when the driver asks it to. */
class ExecutorServiceSuite extends CacheSuite {

  /** Row groups of which something is held, by a part of the file's path. */
  private def held(of: String): Set[Int] = {
    val cache = ExecutorCache.get().get
    val files = cache.files.under(s"file:${path(of)}").keySet
    cache.snapshot().chunks.asScala.map(_.key).filter(key => files.contains(key.file))
      .map(_.rowGroup).toSet
  }

  private def write(name: String): KnownFile = {
    spark.range(4000).selectExpr("id", "id % 7 AS b").coalesce(1)
      .write.option("parquet.block.row.count.limit", "1000").parquet(path(name))
    spark.read.parquet(path(name)).collect()
    assert(held(name) === Set(0, 1, 2, 3))
    ExecutorCache.get().get.files.under(s"file:${path(name)}").values.asScala.head
  }

  test("row groups are released by any byte of theirs, the first by one before it") {
    val file = write("released")
    write("kept")
    val key = file.identity.placementKey
    def released(keys: Array[Long], positions: Array[Long]): Any =
      ExecutorService.answer(ReleaseRowGroups(keys, positions)).toOption.get
    val positions = Array(0L, file.starts()(2), file.starts()(3) - 1)
    assert(released(Array.fill(3)(key), positions) === 4)
    assert(held("released") === Set(1, 3))
    assert(held("kept") === Set(0, 1, 2, 3))
    assert(released(Array(key + 1), Array(4L)) === 0)
    assert(released(Array(key), Array(Long.MaxValue)) === 2)
    assert(held("released") === Set(1))
  }

  test("all parts of a list are all chunks, each once") {
    for (name <- 1 to 5) write(s"part-$name")
    def listed(part: Part): Seq[(String, Int, Int)] =
      ExecutorService.answer(ListChunks(part)).toOption.get.asInstanceOf[Seq[HeldFile]]
        .flatMap(file => file.chunks.map(chunk => (file.path, chunk.rowGroup, chunk.leaf)))
    val whole = listed(Part(0, 1))
    assert(whole.size === ExecutorCache.get().get.poolStats.chunks)
    val parts = (0 until 3).map(number => listed(Part(number, 3)))
    assert(parts.flatten.sorted === whole.sorted)
    assert(parts.count(_.nonEmpty) > 1)
  }
}
