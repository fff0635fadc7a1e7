package io.oap.spark.placement

import java.io.FileNotFoundException

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.cache.ColumnCache
import io.oap.spark.{CacheSuite, ExecutorCache, WatchedFileSystem}

/** Commands that remove files free their chunks, and only theirs. */
class RemovedFilesSuite extends CacheSuite with Eventually {

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(50, Millis))

  private def cache: ColumnCache = ExecutorCache.get().get

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings

  /** Bytes of chunks of files under this folder or table. */
  private def heldOf(folder: String, scheme: String = "file"): Long = {
    val files = cache.files.under(s"$scheme:$folder").keySet
    cache.snapshot().chunks.stream.filter(c => files.contains(c.key.file)).mapToLong(_.bytes).sum
  }

  private def table(name: String): String = path(s"warehouse/$name")

  private def make(name: String, partitioned: String = ""): Unit = {
    spark.sql(s"CREATE TABLE $name (id BIGINT, p INT) USING parquet $partitioned")
    spark.sql(s"INSERT INTO $name SELECT id, cast(id % 2 as int) FROM range(1000)")
    spark.table(name).collect()
    assert(heldOf(table(name)) > 0)
  }

  private def assertFreed(name: String)(command: String): Unit = {
    make("bystander")
    make(name)
    val others = heldOf(table("bystander"))
    spark.sql(command)
    eventually(assert(heldOf(table(name)) === 0))
    assert(heldOf(table("bystander")) === others)
    spark.sql("DROP TABLE bystander")
    eventually(assert(heldOf(table("bystander")) === 0))
  }

  test("DROP TABLE")(assertFreed("d")("DROP TABLE d"))
  test("TRUNCATE TABLE")(assertFreed("t")("TRUNCATE TABLE t"))
  test("INSERT OVERWRITE")(assertFreed("i")("INSERT OVERWRITE i SELECT 1L, 1"))
  test("ALTER TABLE RENAME")(assertFreed("r")("ALTER TABLE r RENAME TO r2"))

  test("ALTER TABLE DROP PARTITION frees that partition only") {
    make("dp", "PARTITIONED BY (p)")
    val kept = heldOf(table("dp") + "/p=1")
    assert(kept > 0)
    spark.sql("ALTER TABLE dp DROP PARTITION (p = 0)")
    eventually(assert(heldOf(table("dp")) === kept))
  }

  test("a path that is overwritten") {
    val at = path("written")
    spark.range(1000).write.parquet(at)
    spark.read.parquet(at).collect()
    assert(heldOf(at) > 0)
    spark.range(10).write.mode("overwrite").parquet(at)
    eventually(assert(heldOf(at) === 0))
  }

  test("a path that is appended to keeps its chunks") {
    val at = path("appended")
    spark.range(1000).write.parquet(at)
    spark.read.parquet(at).collect()
    val before = heldOf(at)
    assert(before > 0)
    spark.range(10).write.mode("append").parquet(at)
    awaitForgetting()
    assert(heldOf(at) === before)
  }

  /** Another command's files are forgotten after those of the last one, on the same thread. */
  private def awaitForgetting(): Unit = {
    make("later")
    spark.sql("DROP TABLE later")
    eventually(assert(heldOf(table("later")) === 0))
  }

  test("a listing that breaks off frees nothing") {
    val at = path("busy")
    spark.range(1000).write.parquet(s"watched:$at")
    spark.read.parquet(s"watched:$at").collect()
    val before = heldOf(at, "watched")
    assert(before > 0)
    @volatile var isListed = false
    WatchedFileSystem.beforeList = path =>
      if (path.getName == "busy" && Thread.currentThread.getName == "oap-removed-files") {
        isListed = true
        // As HDFS does for a folder below that goes away between two parts of its listing.
        throw new FileNotFoundException(path.toString)
      }
    try {
      spark.range(10).write.mode("append").parquet(s"watched:$at")
      awaitForgetting()
    } finally WatchedFileSystem.beforeList = _ => ()
    assert(isListed && heldOf(at, "watched") === before)
  }
}
