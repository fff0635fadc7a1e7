package io.oap.spark.directory

import java.io.FileNotFoundException
import java.net.URI
import java.nio.file.{Files, Paths}
import java.nio.file.attribute.FileTime
import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import com.google.common.base.Ticker
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.cache.ColumnCache
import io.oap.common.FileIdentity
import io.oap.spark.{CacheSuite, WatchedFileSystem}
import io.oap.spark.executor.{ExecutorCache, ForgetFiles}

/** Commands that remove files free their chunks, and only theirs. */
class RemovedFilesSuite extends CacheSuite with Eventually {

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(50, Millis))

  private def cache: ColumnCache = ExecutorCache.get().get

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings +
      ("spark.hadoop.fs.seconds.impl" -> classOf[SecondsFileSystem].getName)

  /** What executors know the Parquet files of a folder by. */
  private def keysIn(folder: String): Array[Long] = {
    val path = new Path(folder)
    path.getFileSystem(spark.sessionState.newHadoopConf()).listStatus(path)
      .filter(_.getPath.getName.endsWith(".parquet"))
      .map(file =>
        FileIdentity.placementKey(file.getPath.toString, file.getLen, file.getModificationTime))
  }

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

  test("tables at a location that a URI writes otherwise") {
    val odd = path("odd a%20b #c")
    spark.sql(s"CREATE DATABASE odd LOCATION '$odd'")
    for (command <- Seq("DROP TABLE odd.t", "TRUNCATE TABLE odd.t")) {
      spark.sql("CREATE TABLE odd.t USING parquet AS SELECT id FROM range(1000)")
      spark.table("odd.t").collect()
      assert(heldOf(s"$odd/t") > 0)
      spark.sql(command)
      eventually(assert(heldOf(s"$odd/t") === 0))
    }
    spark.sql("DROP DATABASE odd CASCADE")
    val at = path("elsewhere %5b #2")
    def write(rows: Long): Unit =
      spark.range(rows).write.mode("overwrite").option("path", at).saveAsTable("oddly")
    write(1000)
    spark.table("oddly").collect()
    assert(heldOf(at) > 0)
    write(10)
    eventually(assert(heldOf(at) === 0))
    spark.sql("DROP TABLE oddly")
  }

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
    spark.range(1000).selectExpr("id", "1 AS p").write.partitionBy("p").parquet(s"watched:$at")
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
      withConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        spark.range(10).selectExpr("id", "2 AS p").write.partitionBy("p").mode("overwrite")
          .parquet(s"watched:$at")
      }
      awaitForgetting()
    } finally WatchedFileSystem.beforeList = _ => ()
    assert(isListed && heldOf(at, "watched") === before)
  }

  test("files whose status tells seconds and whose listing tells milliseconds count as there") {
    val at = path("coarse")
    def write(rows: Long, parts: String): Unit =
      spark.range(rows).selectExpr("id", s"$parts AS p").write.partitionBy("p").mode("overwrite")
        .parquet(s"seconds:$at")
    write(1000, "id % 2")
    Using.resource(Files.walk(Paths.get(at))) { all =>
      all.filter(_.toString.endsWith(".parquet"))
        .forEach(file => Files.setLastModifiedTime(file, FileTime.fromMillis(1700000000789L)): Unit)
    }
    spark.read.parquet(s"seconds:$at").collect()
    val kept = heldOf(s"$at/p=1", "seconds")
    assert(kept > 0)
    withConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic")(write(10, "0"))
    eventually(assert(heldOf(s"$at/p=0", "seconds") === 0))
    awaitForgetting()
    assert(heldOf(at, "seconds") === kept)
  }

  /** Folders that are listed to find removed files, while the body runs and just after. */
  private def listed(body: => Unit): Seq[Path] = {
    val folders = ArrayBuffer.empty[Path]
    WatchedFileSystem.beforeLists(path =>
      if (Thread.currentThread.getName == "oap-removed-files") {
        folders.synchronized(folders += path)
      }) {
      body
      awaitForgetting()
    }
    folders.toSeq
  }

  private def makeWatched(name: String): Unit = {
    val at = path(s"elsewhere/$name")
    spark.sql(s"CREATE TABLE $name (id BIGINT, p INT) USING parquet PARTITIONED BY (p) " +
      s"LOCATION 'watched:$at'")
    spark.sql(s"INSERT INTO $name SELECT id, cast(id % 3 as int) FROM range(1000)")
    spark.table(name).collect()
  }

  test("a pinned table is listed once an hour, when it is read") {
    makeWatched("pinned")
    val folder = path("elsewhere/pinned")
    try {
      assert(listed(spark.table("pinned").collect()) === Nil, "not pinned yet")
      spark.sql("CALL oap.system.pin('pinned')")
      val found = listed {
        spark.table("pinned").collect()
        spark.table("pinned").collect()
      }
      assert(found.count(_.getName == "pinned") === 1)
      assert(found.forall(_.toUri.getPath.startsWith(folder)))
    } finally {
      spark.sql("CALL oap.system.unpin('pinned')")
      spark.sql("DROP TABLE pinned")
    }
  }

  test("files of a pinned table that another application removes are let go within the hour") {
    val at = path("removed")
    spark.range(0, 1000, 1, 2).write.parquet(at)
    val keys = keysIn(at)
    var now = 0L
    val told = new ArrayBlockingQueue[ForgetFiles](10)
    val files = new RemovedFiles(
      asked => Seq("1" -> (if (asked.endsWith(at)) keys else Array(7L))),
      (_, forget) => told.add(forget): Unit,
      new Ticker {
        override def read(): Long = now
      })
    // One path after the other is looked into: what is told of the last one is told last.
    def gone(paths: String*): Seq[Long] = {
      files.pinnedIsRead(spark, paths.map(new Path(_)))
      Option(told.poll(20, TimeUnit.SECONDS)).get.gone.toSeq
    }
    assert(gone(at, path("never")) === Seq(7L))
    Files.list(Paths.get(at)).filter(_.toString.endsWith(".parquet")).forEach(Files.delete(_))
    now += TimeUnit.MINUTES.toNanos(59)
    assert(gone(at, path("neither")) === Seq(7L))
    now += TimeUnit.MINUTES.toNanos(2)
    assert(gone(at) === keys.toSeq)
    assert(told.isEmpty)
  }

  for ((what, command) <- Seq(
      "INSERT INTO" -> "INSERT INTO grown SELECT 1L, 1",
      "INSERT INTO a partition" -> "INSERT INTO grown PARTITION (p = 2) SELECT 1L",
      "a partition that is added" -> "ALTER TABLE grown ADD PARTITION (p = 7)",
      "a property that is set" -> "ALTER TABLE grown SET TBLPROPERTIES ('a' = 'b')"
    )) {
    test(s"$what lists nothing") {
      makeWatched("grown")
      try assert(listed(spark.sql(command)) === Nil)
      finally spark.sql("DROP TABLE grown")
    }
  }

  test("a path or table that is appended to by a DataFrame lists nothing") {
    val at = s"watched:${path("more")}"
    makeWatched("appended")
    try {
      assert(listed {
        spark.range(10).write.parquet(at)
        spark.range(10).write.mode("append").parquet(at)
        spark.sql("SELECT 1L AS id, 1 AS p").write.insertInto("appended")
      } === Nil)
    } finally spark.sql("DROP TABLE appended")
  }

  test("INSERT OVERWRITE of a partition lists that partition and no other") {
    makeWatched("onePart")
    try {
      val kept = heldOf(path("elsewhere/onePart") + "/p=1", "watched")
      assert(kept > 0)
      val folders = listed(spark.sql("INSERT OVERWRITE onePart PARTITION (p = 0) SELECT 1L"))
      assert(folders.nonEmpty && folders.forall(_.toString.contains("/p=0")), folders)
      assert(heldOf(path("elsewhere/onePart") + "/p=0", "watched") === 0)
      assert(heldOf(path("elsewhere/onePart") + "/p=1", "watched") === kept)
    } finally spark.sql("DROP TABLE onePart")
  }

  test("executors are told of what they know and is gone, and of nothing else") {
    val at = path("large")
    spark.range(0, 30, 1, 3).write.parquet(at)
    val there = keysIn(at)
    assert(there.distinct.length >= 3)
    def told(path: String): Map[String, Set[Long]] = {
      val told = mutable.HashMap.empty[String, Set[Long]]
      val removed = new RemovedFiles(
        asked => {
          assert(asked === s"file:$path")
          Seq(
            "1" -> Array(7L, there(0)),
            "2" -> Array(8L, 7L),
            "3" -> Array(there(1)),
            "4" -> Array.emptyLongArray)
        },
        (executor, forget) => told(executor) = forget.gone.toSet
      )
      removed.forgetRemoved(path, spark.sessionState.newHadoopConf())
      told.toMap
    }
    assert(told(at) === Map("1" -> Set(7L), "2" -> Set(7L, 8L)))
    assert(told(path("nowhere")) ===
      Map("1" -> Set(7L, there(0)), "2" -> Set(7L, 8L), "3" -> Set(there(1))))
  }

  test("a table of which no executor knows anything is not listed") {
    val at = s"watched:${path("unread")}"
    spark.range(1000).write.parquet(at)
    assert(listed(spark.range(10).write.mode("overwrite").parquet(at)) === Nil)
    spark.read.parquet(at).collect()
    assert(listed(spark.range(10).write.mode("overwrite").parquet(at)).nonEmpty)
  }
}

/** The local file system as an object store whose status of one file tells its time in seconds. */
class SecondsFileSystem extends WatchedFileSystem {
  override def getScheme: String = "seconds"

  override def getUri: URI = URI.create("seconds:///")

  override def getFileStatus(path: Path): FileStatus = {
    val status = super.getFileStatus(path)
    withTime(status, status.getModificationTime / 1000 * 1000)
  }

  override def listStatus(path: Path): Array[FileStatus] =
    super.listStatus(path).map(status =>
      withTime(status, super.getFileStatus(status.getPath).getModificationTime))

  private def withTime(status: FileStatus, millis: Long): FileStatus =
    new FileStatus(
      status.getLen,
      status.isDirectory,
      status.getReplication.toInt,
      status.getBlockSize,
      millis,
      status.getPath)
}
