package io.oap.spark.read

import java.io.IOException
import java.nio.file.{Files, Path, StandardCopyOption}
import java.nio.file.attribute.FileTime
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.TaskContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.scalatest.BeforeAndAfterEach

import io.oap.spark.{CacheControl, DamagedPool, UnloggedFailures, WatchedFileSystem}

/** Whatever goes wrong comes out as it does from Spark alone, and leaves no chunk pinned. */
class FaultSuite extends UnloggedFailures with BeforeAndAfterEach {

  // Tasks are tried four times, as they are on a cluster.
  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings +
      ("spark.master" -> "local[2,4]") + ("spark.sql.adaptive.enabled" -> "false")

  override protected def afterEach(): Unit = assertNothingPinned()

  private val Schema = "id BIGINT, s STRING, d DOUBLE"

  private def data(first: Long, count: Long, word: String = "text"): DataFrame =
    spark.range(first, first + count, 1, 1)
      .selectExpr("id", s"concat('$word ', id) as s", "id / 7.0D as d")

  /** Writes one file, to be put in a table's folder. */
  private def written(version: DataFrame, options: (String, String)*): Path = {
    val fresh = path("fresh")
    version.write.mode("overwrite").options(options.toMap).parquet(fresh)
    Using.resource(Files.list(Path.of(fresh))) { files =>
      files.filter(_.toString.endsWith(".parquet")).findFirst().get()
    }
  }

  /** Makes it the folder's only file, with a modification time of its own. */
  private def put(name: String, file: Path): Path = {
    val target = Files.createDirectories(folder.resolve(name)).resolve("data.parquet")
    val before = if (Files.exists(target)) Files.getLastModifiedTime(target).toMillis else 0L
    Files.move(file, target, StandardCopyOption.REPLACE_EXISTING)
    if (Files.getLastModifiedTime(target).toMillis <= before) {
      Files.setLastModifiedTime(target, FileTime.fromMillis(before + 1))
    }
    target
  }

  private def place(name: String, version: DataFrame, options: (String, String)*): Path =
    put(name, written(version, options: _*))

  /** @param isIgnored whether corrupt files are to be ignored */
  private def read(name: String, scheme: String = "file", isIgnored: String = "false"): DataFrame =
    spark.read.schema(Schema).option("ignoreCorruptFiles", isIgnored)
      .parquet(s"$scheme://${path(name)}")

  for {
    (what, count) <- Seq("the same length" -> 2000, "another length" -> 3000)
    isWarm <- Seq(false, true)
  } test(s"file replaced by one of $what between planning and reading, warm $isWarm") {
    def run(): Either[Seq[String], Seq[String]] = {
      val file = place("replaced", data(0, 2000), "compression" -> "none")
      val length = Files.size(file)
      if (isWarm) {
        rows(read("replaced"))
      }
      val query = read("replaced")
      assert(query.queryExecution.toRdd.getNumPartitions > 0)
      place("replaced", data(0, count.toLong, word = "news"), "compression" -> "none")
      assert((Files.size(file) == length) === (count == 2000))
      outcome(query)
    }
    val expected = alone(run())
    assert(expected.exists(_.exists(_.contains("news 1"))))
    assertOutcome(run(), expected, "with the cache")
  }

  for (isIgnored <- Seq("false", "true"))
    test(s"file replaced between the look at its status and the opening, ignored $isIgnored") {
      place("raced", data(0, 2000))
      CacheControl.clear(spark)
      val replacement = written(data(20000, 3000))
      val opened = new AtomicInteger
      val actual = WatchedFileSystem.beforeOpens { _ =>
        // The reader has the old status in its hands; the retry of the task sees the new one.
        if (opened.getAndIncrement() == 0) put("raced", replacement)
      }(rows(read("raced", "watched", isIgnored)))
      assert(opened.get() > 1)
      assertRows(actual, rows(data(20000, 3000)), "after the retry")
    }

  for {
    sources <- Seq("parquet", "")
    ignored <- Seq(
      Map.empty[String, String],
      Map("ignoreMissingFiles" -> "true"),
      Map("ignoreCorruptFiles" -> "true"))
    isWarm <- Seq(false, true)
  } test(s"file deleted between planning and reading, V1 '$sources', $ignored, warm $isWarm") {
    withConf("spark.sql.sources.useV1SourceList" -> sources) {
      def run(): Either[Seq[String], Seq[String]] = {
        val file = place("deleted", data(0, 2000))
        if (isWarm) {
          rows(read("deleted"))
        }
        val query =
          spark.read.schema(Schema).options(ignored).parquet(path("deleted"))
        assert(query.queryExecution.toRdd.getNumPartitions > 0)
        Files.delete(file)
        outcome(query)
      }
      assertOutcome(run(), alone(run()), "with the cache")
    }
  }

  for (ignored <- Seq("", "ignoreMissingFiles", "ignoreCorruptFiles"))
    test(s"file deleted while it is read, ${if (ignored.isEmpty) "none" else ignored}") {
      def run(): Either[Seq[String], Seq[String]] = {
        val file = place("leaving", data(0, 2000))
        val table = spark.read.schema(Schema)
          .options(Seq(ignored).filter(_.nonEmpty).map(_ -> "true").toMap)
          .parquet(s"watched://${path("leaving")}")
        // From now on the footer is known, and the file is opened only for the other column.
        rows(table.select("id"))
        WatchedFileSystem.beforeOpens(_ => Files.deleteIfExists(file))(outcome(table.select("s")))
      }
      assertOutcome(run(), alone(run()), "with the cache")
    }

  private def damage(file: Path)(change: Array[Byte] => Array[Byte]): Unit = {
    val before = Files.getLastModifiedTime(file).toMillis
    Files.write(file, change(Files.readAllBytes(file)))
    Files.setLastModifiedTime(file, FileTime.fromMillis(before + 5))
  }

  for {
    codec <- Seq("none", "zstd")
    isIgnored <- Seq("false", "true")
    isVerified <- Seq("false", "true")
  } test(s"damaged chunk, $codec, ignored $isIgnored, checksums verified $isVerified") {
    val file = place("damaged", data(0, 5000), "compression" -> codec)
    damage(file) { bytes =>
      for (i <- bytes.length / 3 until bytes.length / 3 + 40) bytes(i) = (bytes(i) ^ 0x5a).toByte
      bytes
    }
    assertSameOutcome(
      spark.read.schema(Schema)
        .option("ignoreCorruptFiles", isIgnored)
        .option("parquet.page.verify-checksum.enabled", isVerified)
        .parquet(path("damaged")))
  }

  private val brokenFooters = Seq[(String, Array[Byte] => Array[Byte])](
    "cut in the middle" -> (bytes => bytes.take(bytes.length / 2)),
    "without the last byte" -> (_.dropRight(1)),
    "with a footer longer than the file" -> (bytes => bytes.updated(bytes.length - 5, 0x7f.toByte)),
    "with rubbish in the footer" -> { bytes =>
      (bytes.length - 500 until bytes.length - 10).foreach(i => bytes(i) = -1)
      bytes
    }
  )

  test("file of no length") {
    damage(place("broken", data(0, 2000)))(_ => Array.emptyByteArray)
    assert(assertSameOutcome(read("broken")) === Right(Nil))
  }

  for ((what, change) <- brokenFooters; isIgnored <- Seq("false", "true")) {
    test(s"file $what, ignored $isIgnored") {
      damage(place("broken", data(0, 2000)))(change)
      val outcome = assertSameOutcome(
        spark.read.schema(Schema).option("ignoreCorruptFiles", isIgnored).parquet(path("broken")))
      assert(outcome.isRight === isIgnored.toBoolean)
    }
  }

  for (isIgnored <- Seq("false", "true"))
    test(s"vector chunk damaged behind its first zones, ignored $isIgnored") {
      withConf("spark.oap.cache.representation" -> "vector") {
        place(
          "worn",
          spark.range(0, 20000, 1, 1).selectExpr(
            "id",
            "cast(id % 11 AS string) AS s",
            "id / 7.0D as d"))
        def query = read("worn", isIgnored = isIgnored)
        assertServed(query)
        // The dictionary has 11 entries, so that four bits for each row can say too much.
        DamagedPool.damage(_.column == 1) { chunk =>
          for (i <- chunk.limit() - 512 until chunk.limit()) chunk.put(i, -1: Byte)
        }
        val expected = alone(rows(query))
        // The rest of the row group comes from the file.
        val (_, counters) = counting(assertRows(rows(query), expected, "after the damage"))
        assert(counters.chunksMissed > 0)
        assertServed(query)
      }
    }

  // A small file is read at once.
  for ((what, word, block, least) <- Seq(
      ("a small file", "text", 20000, 1),
      ("a large file", "text" * 100, 400000, 3)))
    test(s"a read of $what that fails once, wherever it is") {
      place(
        "failing",
        data(0, 3000, word),
        "compression" -> "none",
        "parquet.block.size" -> block.toString)
      val expected = alone(rows(read("failing", "watched")))
      var failed = true
      var failing = 1
      while (failed) {
        CacheControl.clear(spark)
        val reads = new AtomicInteger
        val actual = WatchedFileSystem.beforeReads { _ =>
          if (reads.incrementAndGet() == failing) throw new IOException(s"read $failing fails")
        }(rows(read("failing", "watched")))
        assertRows(actual, expected, s"read $failing failed")
        assertRows(rows(read("failing", "watched")), expected, s"warm, after read $failing failed")
        failed = reads.get() >= failing
        if (failed) failing += 1
      }
      assert(failing > least, "too few reads for this test to mean anything")
    }

  test("reads that always fail") {
    place("failing", data(0, 3000))
    WatchedFileSystem.beforeReads(_ => throw new IOException("broken disk")) {
      assert(assertSameOutcome(read("failing", "watched")).isLeft)
    }
  }

  /** Runs a query in a job group and cancels it while one of its tasks waits in a read. */
  private def cancelInRead(query: DataFrame): Unit = {
    val reading, over = new CountDownLatch(1)
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = over.countDown()
    }
    val context = spark.sparkContext
    context.addSparkListener(listener)
    try {
      WatchedFileSystem.beforeReads { _ =>
        reading.countDown()
        new CountDownLatch(1).await()
      } {
        val running = Future {
          context.setJobGroup("to be cancelled", "a query", interruptOnCancel = true)
          outcome(query)
        }
        assert(reading.await(60, TimeUnit.SECONDS))
        context.cancelJobGroup("to be cancelled")
        assert(Await.result(running, 60.seconds).isLeft)
        assert(over.await(60, TimeUnit.SECONDS))
      }
    } finally context.removeSparkListener(listener)
  }

  test("task killed while it loads a chunk") {
    place("killed", data(0, 3000))
    val expected = alone(rows(read("killed", "watched")))
    // Once before anything is known, once in the first chunk.
    CacheControl.clear(spark)
    cancelInRead(read("killed", "watched"))
    rows(read("killed", "watched").select("id"))
    cancelInRead(read("killed", "watched"))
    assertNothingPinned()
    val begun = System.nanoTime()
    assertRows(rows(read("killed", "watched")), expected, "after the kill")
    // A forgotten load would have made it wait for as long as loads may take.
    assert(System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(25))
    assertServed(read("killed", "watched"))
  }

  test("queries that stop early") {
    data(0, 20000).write.option("parquet.block.size", "20000").parquet(path("many"))
    def some: DataFrame = spark.read.parquet(path("many"))
    CacheControl.clear(spark)
    for (_ <- 1 to 2) {
      assert(some.limit(1).collect().length === 1)
      assert(some.take(10).length === 10)
      assert(some.filter("d > 100").head().getLong(0) > 700)
      val iterator = some.toLocalIterator()
      assert(iterator.next() != null)
      assert(!some.isEmpty)
      assertNothingPinned()
    }
  }

  test("operators above a scan may look at its last batch until the task has ended") {
    place("listened", data(0, 3000))
    val plan = read("listened").queryExecution.executedPlan
    val scan = collectFirst(plan) { case s if s.supportsColumnar => s }.get
    assert(cachedScans(plan).nonEmpty)
    val seen = scan.executeColumnar().mapPartitions { batches =>
      var last: ColumnarBatch = null
      TaskContext.get().addTaskCompletionListener[Unit] { _ =>
        require(last.column(0).getLong(last.numRows() - 1) == last.numRows() - 1)
      }
      last = batches.next()
      Iterator.single(last.numRows())
    }
    assert(seen.collect().sum > 0)
  }
}
