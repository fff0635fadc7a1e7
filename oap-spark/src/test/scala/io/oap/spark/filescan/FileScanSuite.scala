package io.oap.spark.filescan

import java.nio.ByteBuffer
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}

import io.oap.cache.stats.CacheCounters
import io.oap.common.ChunkKey
import io.oap.spark.{CacheControl, CacheSuite, DamagedPool, WatchedFileSystem}
import io.oap.spark.executor.ExecutorCache

/** A suite whose queries are V1 scans; what they read of files is counted by a file system. */
abstract class FileScanSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings

  /** A folder in the file system that counts. */
  protected def watched(name: String): String =
    s"${WatchedFileSystem.Scheme}:${folder.resolve(name)}"

  protected def sql(text: String): DataFrame = spark.sql(text)

  /** The V1 scans of a plan that read through the cache, subqueries included. */
  protected def cachedFileScans(plan: SparkPlan): Seq[FileSourceScanExec] =
    collectWithSubqueries(plan) {
      case scan: FileSourceScanExec if scan.relation.fileFormat.isInstanceOf[CachedFormat] => scan
    }

  /** Bytes of data files, by their names, that the body read in the file system that counts. */
  protected def bytesOfData[T](body: => T): (T, Long) = {
    val before = WatchedFileSystem.bytesOf(FileScanSuite.isData)
    val result = body
    (result, WatchedFileSystem.bytesOf(FileScanSuite.isData) - before)
  }

  /** How often the body had the status of a data file asked for in the file system that counts. */
  protected def statusesOfData[T](body: => T): Long = {
    val before = WatchedFileSystem.statusesOf(FileScanSuite.isData)
    body
    WatchedFileSystem.statusesOf(FileScanSuite.isData) - before
  }

  /**
   * Asserts the rows of Spark alone, cold and warm, of V1 scans, and that a warm query reads nothing
   * of data files.
   */
  protected def assertServedByFiles(query: => DataFrame): Unit = {
    val cold = assertWarm(query)
    assert(cachedFileScans(cold.queryExecution.executedPlan).nonEmpty, cold.queryExecution)
  }

  /**
   * Asserts the rows of Spark alone in each representation: cold, when vector chunks are made in `auto`,
   * and warm. A warm query reads nothing of data files, and from vector chunks where there may be any.
   *
   * @return what the last warm run counted, which is one of `auto`
   */
  protected def assertServedByVectors(query: => DataFrame): CacheCounters = {
    val expected = alone(rows(query))
    Seq("encoded", "vector", "auto").map { representation =>
      // What is kept of a join is not read again.
      withConf(
        "spark.oap.cache.representation" -> representation,
        "spark.oap.buildsides.enabled" -> "false") {
        CacheControl.clear(spark)
        assertRows(rows(query), expected, s"$representation, cold")
        assertRows(rows(query), expected, s"$representation, second run")
        val ((warm, counters), bytes) = bytesOfData(counting(rows(query)))
        assertRows(warm, expected, s"$representation, warm")
        assert(counters.chunksHit > 0, s"$representation: nothing came from the pool")
        assert(counters.bytesFromFile + bytes === 0, s"$representation: files were read")
        assert(vectorChunks.isEmpty === (representation == "encoded"), representation)
        counters
      }
    }.last
  }

  /** Asserts the rows of [[FlatTypes]] that meet conditions: while all is decoded, and on vector chunks. */
  protected def assertConditions(table: => DataFrame): Unit = {
    def met = FlatTypes.conditions.map(condition => rows(table.where(condition)))
    val expected = alone(met)
    for (loads <- Seq(0, 2)) {
      CacheControl.clear(spark)
      for (_ <- 1 to loads) rows(table)
      assert(vectorChunks.isEmpty === (loads == 0))
      withConf("spark.oap.cache.representation" -> (if (loads == 0) "encoded" else "auto")) {
        for (((condition, found), wanted) <- FlatTypes.conditions.zip(met).zip(expected))
          assertRows(found, wanted, s"$condition, after $loads runs without it")
      }
    }
  }

  /**
   * Asserts what Spark alone gives where a task has the table open twice, by one RDD: in each
   * representation cold, when vector chunks are made, and warm.
   */
  protected def assertReadInTurns(query: => DataFrame): Unit = {
    val expected = alone(FileScanSuite.pairs(query))
    for (representation <- Seq("encoded", "vector", "auto"))
      withConf("spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        for (run <- 1 to 3)
          assertRows(FileScanSuite.pairs(query), expected, s"$representation, run $run")
        assert(vectorChunks.isEmpty === (representation == "encoded"), representation)
      }
  }

  /**
   * Asserts that a file is read whole or not at all where it is replaced while it is read, although
   * corrupt files are to be ignored. The pool holds what its first rows need; when anything else is
   * about to be read, another file has come in its place.
   *
   * @param options of the writer, by which 60,000 rows are in several row groups; their file is larger
   *     than those that are read whole
   */
  protected def assertNotCutShort(
      format: String,
      options: Map[String, String],
      columns: String*): Unit = {
    val target =
      Files.createDirectories(folder.resolve(s"replaced-$format")).resolve(s"a.$format")
    def written(from: Long): Path = {
      val made = folder.resolve(s"made-$format-$from")
      spark.range(from, from + 60000, 1, 1).selectExpr("id", "sha2(string(id), 256) AS s")
        .write.options(options).format(format).save(made.toString)
      made.toFile.listFiles.find(_.getName.endsWith(s".$format")).get.toPath
    }
    val (first, second) = (written(0), written(70000))
    def read = spark.read.schema("id BIGINT, s STRING").format(format)
      .load(watched(s"replaced-$format")).selectExpr(columns: _*)
    Files.move(first, target)
    val expected = alone(rows(read))
    CacheControl.clear(spark)
    val (few, bytes) = bytesOfData(rows(read.where("id < 10")))
    assert(few.size === 10 && bytes > 0 && bytes < Files.size(target) / 2)
    val opened = new AtomicInteger
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
      val found = WatchedFileSystem.beforeOpens { _ =>
        if (opened.getAndIncrement() == 0)
          Files.move(second, target, StandardCopyOption.REPLACE_EXISTING): Unit
      }(outcome(read))
      assert(opened.get() > 0)
      found.foreach(assertRows(_, expected, "while the file was replaced"))
    }
  }

  /** Asserts the rows of Spark alone after all vector chunks that a query reads were damaged. */
  protected def assertDamageIsFound(query: => DataFrame): Unit = {
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    for (_ <- 1 to 3) rows(query)
    assert(vectorChunks.nonEmpty)
    DamagedPool.damage(_.representation != ChunkKey.ENCODED)((bytes: ByteBuffer) =>
      for (i <- 0 until bytes.remaining by 7) bytes.put(i, (bytes.get(i) ^ 0x5a).toByte): Unit)
    for (run <- 1 to 3) assertRows(rows(query), expected, s"run $run after damage")
  }

  /** The vector chunks that the pool holds. */
  protected def vectorChunks: Seq[ChunkKey] =
    ExecutorCache.get().get.snapshot().chunks.asScala.map(_.key).toSeq
      .filter(_.representation != ChunkKey.ENCODED)

  /**
   * Asserts that of a query whose scans a plan does not show.
   *
   * @return the query that was run cold
   */
  protected def assertWarm(query: => DataFrame): DataFrame = {
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    val cold = query
    assertRows(rows(cold), expected, "cold run")
    val ((warm, counters), bytes) = bytesOfData(counting(rows(query)))
    assertRows(warm, expected, "warm run")
    assert(counters.chunksHit > 0, "nothing came from the pool")
    assert(counters.bytesFromFile === 0, "a warm run read from files")
    assert(bytes === 0, "a warm run read from data files, the file system says")
    cold
  }
}

object FileScanSuite {

  /** What stands beside some rows, of which the first column is a number, when all rows do. */
  private def pairs(query: DataFrame): Seq[String] = {
    val all = query.rdd
    val some = all.filter(_.getLong(0) % 997 == 5)
    some.cartesian(all)
      .map { case (one, other) => one.toString -> other.toString.hashCode.toLong }
      .reduceByKey(_ + _).collect().map(_.toString).sorted.toSeq
  }

  /** Whether a file is neither of a table's log nor a deletion vector. */
  def isData(path: String): Boolean =
    path.endsWith(".orc") || path.endsWith(".parquet") && !path.contains("_delta_log")
}
