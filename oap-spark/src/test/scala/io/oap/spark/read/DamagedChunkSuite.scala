package io.oap.spark.read

import java.nio.ByteBuffer
import java.nio.file.Files
import java.util.BitSet

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.SparkException
import org.apache.spark.sql.DataFrame
import org.scalatest.BeforeAndAfterEach

import io.oap.cache.ReadContext
import io.oap.cache.stats.CacheCounters
import io.oap.cache.vector.{NativeBuffer, VectorEncoder, VectorKind}
import io.oap.common.ChunkKey
import io.oap.spark.{CacheControl, DamagedPool, NoDirectMemory, UnloggedFailures}
import io.oap.spark.executor.ExecutorCache

/**
 * Chunks that are damaged in the pool while their files are intact: they are dropped, the file is
 * read, and no row is lost, doubled or wrong. A task is tried once here, so that no query may hide
 * behind a second try.
 */
class DamagedChunkSuite extends UnloggedFailures with BeforeAndAfterEach {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.adaptive.enabled" -> "false")

  override protected def afterEach(): Unit = assertNothingPinned()

  private val Rows = 30000

  /** Writes one file of three row groups, each of many pages, unless it is there. */
  private def write(name: String, codec: String, s: String = "concat('text ', id)"): Unit =
    if (!Files.exists(folder.resolve(name))) spark.range(0, Rows.toLong, 1, 1)
      .selectExpr("id", s"$s AS s", "if(id < 0, null, id / 7.0D) AS d", "array(id, id + 1) AS a")
      .write
      .options(rowGroupsOf(Rows / 3))
      .option("compression", codec)
      .option("parquet.page.size", "4096")
      .option("parquet.page.row.count.limit", "500")
      .option("parquet.enable.dictionary#d", "false")
      .option("parquet.enable.dictionary#id", "false")
      .parquet(path(name))

  private def read(name: String, isIgnored: Boolean = false): DataFrame =
    spark.read.option("ignoreCorruptFiles", isIgnored.toString).parquet(path(name))

  private def chunk(rowGroup: Int, column: Int)(key: ChunkKey): Boolean =
    key.rowGroup == rowGroup && key.column == column

  /** Where the pages of a chunk begin that Zstandard has compressed: each is a frame of its own. */
  private def frames(chunk: ByteBuffer): Seq[Int] = {
    val magic = Seq(0x28, 0xb5, 0x2f, 0xfd).map(_.toByte)
    (0 until chunk.remaining - 4).filter(i =>
      magic.indices.forall(j => chunk.get(i + j) == magic(j)))
  }

  /** Makes the page at this part of a chunk, 0 to 1, one that cannot be decompressed. */
  private def breakPage(part: Double)(chunk: ByteBuffer): Unit = {
    val begins = frames(chunk)
    assert(begins.size > 10)
    chunk.put(begins((part * (begins.size - 1)).toInt), 0: Byte)
  }

  private def fill(from: Int, bytes: Int, value: Int)(chunk: ByteBuffer): Unit =
    for (i <- from until from + bytes) chunk.put(i, value.toByte)

  private def held: Set[ChunkKey] =
    ExecutorCache.get().get.snapshot().chunks.asScala.map(_.key).toSet

  /** Damages a chunk of a warm pool, and has the query come out right, then and afterwards. */
  private def assertRecovers(
      query: => DataFrame,
      which: ChunkKey => Boolean,
      what: String)(damage: ByteBuffer => Unit): Unit = {
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    rows(query)
    rows(query)
    DamagedPool.damage(which)(damage)
    val before = held.filter(which)
    val (actual, counters) = counting(rows(query))
    assertRows(actual, expected, what)
    assert(counters.bytesFromFile > 0, s"$what: the file was not read")
    assertRows(rows(query), expected, s"$what, once more")
    assert(before.nonEmpty)
  }

  for (isIgnored <- Seq(false, true); part <- Seq(0.0, 0.4, 1.0))
    test(s"encoded chunk damaged at $part of it, corrupt files ignored $isIgnored") {
      withConf("spark.oap.cache.representation" -> "encoded") {
        write("encoded", "zstd")
        for (column <- Seq(0, 2, 3))
          assertRecovers(read("encoded", isIgnored), chunk(1, column), s"column $column")(
            breakPage(part))
        // With conditions another reader goes from row group to row group.
        def some = read("encoded", isIgnored).filter("d >= 0 AND id % 3 = 1")
        assertRecovers(some, chunk(1, 2), "with a condition")(breakPage(part))
      }
    }

  test("chunk without a page header that can be read") {
    withConf("spark.oap.cache.representation" -> "encoded") {
      for (codec <- Seq("none", "snappy", "gzip")) {
        write(s"header-$codec", codec)
        for (isIgnored <- Seq(false, true); group <- Seq(0, 2))
          assertRecovers(read(s"header-$codec", isIgnored), chunk(group, 2), codec)(
            fill(0, 64, 0xff))
      }
    }
  }

  test("damage that was handed over before it was found out fails the task, not the answer") {
    withConf("spark.oap.cache.representation" -> "encoded") {
      write("late", "none")
      val expected = alone(rows(read("late")))
      CacheControl.clear(spark)
      rows(read("late"))
      DamagedPool.damage(chunk(1, 2)) { chunk =>
        // The length of the definition levels, in front of each page's values.
        val pages = (0 until chunk.remaining - 8).filter(i =>
          chunk.getInt(i) == 0x03000000 && chunk.get(i + 6) == 1)
        assert(pages.size > 10)
        val value = pages.head + 100
        chunk.put(value, (chunk.get(value) ^ 1).toByte)
        chunk.putInt(pages.last, 0xffffff7f) // little-endian: the greatest number
      }
      val error = intercept[SparkException](rows(read("late", isIgnored = true)))
      val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
      assert(causes.exists(_.getMessage.contains("damaged in the pool")))
      assertRows(rows(read("late", isIgnored = true)), expected, "the next query")
    }
  }

  test("encoded chunk that is damaged where it still can be decoded makes no vector chunk") {
    for (columns <- Seq(Seq("id", "s", "d"), Seq("d", "a"))) {
      val name = s"laundered-${columns.size}"
      write(name, "none")
      def query = read(name).selectExpr(columns: _*)
      val expected = alone(rows(query))
      CacheControl.clear(spark)
      rows(query)
      DamagedPool.damage(chunk(1, 2)) { chunk =>
        chunk.put(20000, (chunk.get(20000) ^ 1).toByte)
      }
      assertRows(rows(query), expected, "while it becomes a vector chunk")
      assertRows(rows(query), expected, "from the vector chunk")
    }
  }

  test("dictionary of a damaged chunk rules out no row group") {
    withConf("spark.oap.cache.representation" -> "encoded") {
      write("ruled", "none", s = "concat('word ', id % 5)")
      def query = read("ruled").filter("s = 'word 3'")
      val expected = alone(rows(query))
      assert(expected.nonEmpty)
      CacheControl.clear(spark)
      rows(read("ruled"))
      DamagedPool.damage(chunk(1, 1)) { chunk =>
        val at = (0 until chunk.remaining - 6).find(i =>
          "word 3".indices.forall(j => chunk.get(i + j) == "word 3" (j).toByte)).get
        chunk.put(at + 5, 'x': Byte)
      }
      for (run <- 1 to 2) assertRows(rows(query), expected, s"run $run")
    }
  }

  for (isIgnored <- Seq(false, true); zone <- 0 to 2)
    test(s"vector chunk damaged in zone $zone, corrupt files ignored $isIgnored") {
      withConf("spark.oap.cache.representation" -> "vector") {
        val name = "vectors"
        write(name, "zstd", s = "cast(id % 11 AS string)")
        // The dictionary has 11 entries, so that four bits for each row can say too much.
        def damage(chunk: ByteBuffer): Unit = {
          val codes = chunk.remaining - (Rows / 3 + 1) / 2
          fill(codes + zone * 2048 + 100, 64, 0xff)(chunk)
        }
        def broken(key: ChunkKey) = chunk(1, 1)(key) && key.representation != ChunkKey.ENCODED
        def flat = read(name, isIgnored).select("id", "s", "d")
        assertRecovers(flat, broken, "all vectors")(damage)
        // The array has no vector chunk.
        assertRecovers(read(name, isIgnored), broken, "some vectors")(damage)
      }
    }

  test("vector chunk of another number of rows than its row group has") {
    withConf("spark.oap.cache.representation" -> "vector") {
      write("short", "zstd")
      def query = read("short").select("id")
      val expected = alone(rows(query))
      CacheControl.clear(spark)
      for (_ <- 1 to 2) rows(query)
      val cache = ExecutorCache.get().get
      val key = held.find(chunk(1, 0)).get
      assert(cache.drop(Map(key.file -> BitSet.valueOf(Array(2L))).asJava) === 1)
      Using.resource(new VectorEncoder(VectorKind.I64)) { encoder =>
        encoder.add(new NativeBuffer(800).address, 0, 100)
        val context = new ReadContext(new CacheCounters)
        cache.vectors.put(key, encoder, ChunkKey.encoded(key.file, 1, 0), 1 << 20, context)
      }
      assert(held(key))
      assertRows(rows(query), expected, "with a chunk of 100 rows")
    }
  }

  test("no memory outside the heap") {
    withConf("spark.oap.cache.representation" -> "vector") {
      // Compressed as Parquet and Spark decompress without such memory.
      write("starved", "none", s = "cast(id % 11 AS string)")
      for ((columns, condition) <- Seq(
          "id, s, d" -> "s IN ('3', '5')",
          "id, s, d, a" -> "true",
          "id, s, d, a" -> "id > 15000 AND s = '7'")) {
        def query = read("starved").where(condition).selectExpr(columns.split(", ").toSeq: _*)
        val expected = alone(rows(query))
        for (_ <- 1 to 2) rows(query)
        val before = held
        assertRows(NoDirectMemory(rows(query)), expected, s"$columns, $condition")
        assert(before.subsetOf(held), "chunks were dropped that are not damaged")
        assertRows(rows(query), expected, "with memory again")
      }
    }
  }
}
