package io.oap.spark.filescan

import java.lang.reflect.Modifier

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike

import io.oap.spark.{CacheControl, WatchedFileSystem}

/** V1 scans of Parquet tables that the V2 scan does not serve. */
class FileScanReadSuite extends FileScanSuite {

  private lazy val plain: String = {
    spark.range(0, 3000, 1, 2)
      .selectExpr("id", "id % 5 as k", "concat('s', id % 31) as s", "array(id, id + 1) as l")
      .write.partitionBy("k").options(rowGroupsOf(500)).parquet(watched("plain"))
    watched("plain")
  }

  /** With a schema, since Spark reads footers on the driver to find out one. */
  private def read: DataFrame =
    spark.read.schema("id BIGINT, s STRING, l ARRAY<BIGINT>, k BIGINT").parquet(plain)

  private val metadata = Seq(
    "file_path",
    "file_name",
    "file_size",
    "file_block_start",
    "file_modification_time",
    "row_index")

  test("metadata columns") {
    for (column <- metadata)
      assertServedByFiles(read.select("id", s"_metadata.$column", "l"))
    assertServedByFiles(
      read.where("k = 2 AND s > 's2'").select("id", "_metadata.row_index"))
    assertServedByFiles(
      read.where("_metadata.file_size > 10").selectExpr("sum(id)"))
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      assertServedByFiles(read.select("id", "_metadata.row_index", "l"))
    }
  }

  test("metadata columns beside a V2 scan of the same files, which share their chunks") {
    def files = read.select("id", "_metadata.file_name")
    def join = files.join(read, "id")
    val plan = executed(join)
    assert(cachedScans(plan).size === 1)
    assert(cachedFileScans(plan).size === 1)
    withConf("spark.oap.cache.representation" -> "encoded") {
      assertWarm(join)
      CacheControl.clear(spark)
      read.collect()
      val (_, counters) = counting(rows(files))
      assert(counters.chunksHit > 0)
      assert(counters.chunksMissed === 0, "chunks of the V2 scan")
    }
  }

  private def shuffles(query: DataFrame): Int =
    collect(executed(query)) { case shuffle: ShuffleExchangeLike => shuffle }.size

  test("bucketed tables join without a shuffle") {
    for (name <- Seq("b1", "b2")) {
      spark.range(0, 2000, 1, 2).selectExpr("id", "id % 100 as k").write
        .option("path", watched(name)).bucketBy(4, "k").sortBy("k").saveAsTable(name)
    }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def join = sql("SELECT count(*), sum(b1.id) FROM b1 JOIN b2 ON b1.k = b2.k")
      assert(shuffles(join) === 1, "only the aggregate's")
      assert(alone(shuffles(join)) === 1)
      assertServedByFiles(join)
      assertServedByFiles(sql("SELECT * FROM b1 WHERE k = 17"))
      withConf("spark.sql.bucketing.coalesceBucketsInJoin.enabled" -> "true")(
        assertServedByFiles(join))
    }
  }

  private def fileScan(plan: SparkPlan): FileSourceScanExec =
    collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }.head

  test("what Spark asks a scan and its format") {
    def query = read.select("id", "_metadata.file_name")
    val (cached, meant) = (fileScan(executed(query)), alone(fileScan(executed(query))))
    assert(cached.vectorTypes === None, "batches are of several readers")
    assert(cached.supportsColumnar === meant.supportsColumnar)
    assert(cached.relation.toString === meant.relation.toString)
    assert(cached.relation.fileFormat.metadataSchemaFields ===
      meant.relation.fileFormat.metadataSchemaFields)
    assert(cached.sameResult(fileScan(executed(query))))
    assert(cached.metrics.keySet === meant.metrics.keySet)
    assert(cached.metrics("numOutputRows").value === meant.metrics("numOutputRows").value)
  }

  test("the format answers all that a format can be asked") {
    val asked = classOf[FileFormat].getMethods
      .filterNot(m => Modifier.isStatic(m.getModifiers) || m.getName.contains("$"))
      .map(m => m.getName -> m.getParameterTypes.toSeq).toSet
    val answered = classOf[CachedFormat].getDeclaredMethods
      .map(m => m.getName -> m.getParameterTypes.toSeq).toSet
    // It is protected, and asked by buildReaderWithPartitionValues of the same format only.
    assert((asked -- answered).map(_._1) === Set("buildReader"))
  }

  test("a file that is overwritten in place between two reads") {
    val file = watched("replaced")
    def write(from: Int): Unit =
      spark.range(from, from + 1000L, 1, 1).write.mode("overwrite").parquet(s"$file-new")
    def put(): Unit = {
      val from =
        folder.resolve("replaced-new").toFile.listFiles.find(_.getName.endsWith(".parquet"))
      java.nio.file.Files.copy(
        from.get.toPath,
        java.nio.file.Files.createDirectories(folder.resolve("replaced")).resolve("a.parquet"),
        java.nio.file.StandardCopyOption.REPLACE_EXISTING
      ): Unit
    }
    write(0)
    put()
    def read =
      spark.read.schema("id BIGINT").parquet(file).selectExpr("sum(id)", "max(_metadata.row_index)")
    assertServedByFiles(read)
    assert(statusesOfData(rows(read)) > 0, "whose version is it?")
    write(5000)
    put()
    assertServedByFiles(read)
    assert(read.head().getLong(0) === (5000L until 6000).sum)
  }

  test("a file that is replaced while Spark's reader of rows reads it is not cut short") {
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      assertNotCutShort("parquet", rowGroupsOf(5000), "id", "s", "_metadata.file_name")
    }
  }

  test("what was counted reaches the totals, the table of scans and the event log") {
    sql(s"CREATE TABLE counted USING parquet LOCATION '$plain'")
    sql("MSCK REPAIR TABLE counted")
    def counted = spark.table("counted").select("id", "_metadata.file_name")
    CacheControl.clear(spark)
    rows(counted)
    val (_, counters) = counting(rows(counted))
    assert(counters.bytesFromPool > 0)
    val scans = sql("SELECT hits, misses, bytes_from_pool, rows FROM oap.system.scans " +
      "WHERE table LIKE '%counted' ORDER BY execution_id DESC").collect()
    assert(scans.head.getLong(0) === counters.chunksHit)
    assert(scans.head.getLong(2) === counters.bytesFromPool)
    assert(scans.head.getLong(3) === 3000)
    assert(scans(1).getLong(1) > 0)
  }

  test("files of a scheme whose file system Hadoop does not cache") {
    withConf(s"fs.${WatchedFileSystem.Scheme}.impl.disable.cache" -> "true") {
      assertServedByFiles(read.select("s", "_metadata.file_name"))
    }
  }
}
