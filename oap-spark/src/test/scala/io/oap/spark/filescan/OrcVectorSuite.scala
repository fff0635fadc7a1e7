package io.oap.spark.filescan

import scala.jdk.CollectionConverters._

import org.apache.spark.memory.MemoryMode
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.GreaterThan
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, WatchedFileSystem}

/** V1 scans of ORC files that are read from vector chunks. */
class OrcVectorSuite extends FileScanSuite {

  /** So that a file has several stripes, each of several zones. */
  private val stripes = Map("orc.stripe.size" -> "200000", "orc.stripe.row.count" -> "5000")

  private def written(name: String, rows: DataFrame): String = {
    rows.write.options(stripes).orc(watched(name))
    watched(name)
  }

  private lazy val flat: String = written("flat", FlatTypes.rows(spark, 0, 12000))

  private lazy val schema = alone(spark.read.orc(flat).schema)

  private def read: DataFrame = spark.read.schema(schema).orc(flat)

  test("all flat types") {
    assertServedByVectors(read)
    assert(vectorChunks.map(_.rowGroup).distinct.size > 1)
    // Moments depend on the time zone of who reads them: they stay as they are in the file.
    assert(vectorChunks.map(_.column).distinct.size === schema.length - 2)
    assertServedByVectors(read.where("id % 3 = 1"))
    withConf("spark.sql.adaptive.enabled" -> "false") {
      assertServedByVectors(read.where("id % 3 = 1"))
    }
    // Then Spark wants rows.
    withConf("spark.sql.codegen.wholeStage" -> "false")(assertServedByFiles(read.where("id > 9")))
    withConf("spark.sql.columnVector.offheap.enabled" -> "true")(assertServedByVectors(read))
  }

  test("conditions drop zones and rows in the scan, and no more than the filter above") {
    assertConditions(read)
    val counters =
      assertServedByVectors(read.where("id BETWEEN 4200 AND 4300").drop("moment", "ntz"))
    assert(counters.get(Figure.ROWS_DROPPED) > 0 && counters.get(Figure.ZONES_SKIPPED) > 0)
    withConf("spark.sql.orc.filterPushdown" -> "false") {
      val counters = assertServedByVectors(read.where("id BETWEEN 4200 AND 4300"))
      assert(counters.get(Figure.ROWS_DROPPED) === 0)
    }
    for (query <- Seq[() => DataFrame](
        () => read.where("rand(7) < 0.3 AND step = 3"),
        () => read.where("step = 3").selectExpr("*", "monotonically_increasing_id() AS m"),
        () => read.sample(0.3, 11).where("step = 3")
      ))
      for (run <- 1 to 3) assertRows(rows(query()), alone(rows(query())), s"run $run")
  }

  test("until chunks can be made of what the pool holds, Spark's reader passes over rows") {
    CacheControl.clear(spark)
    def some = read.where("id = 7000").select("id", "s", "d18")
    val (_, few) = bytesOfData(rows(some))
    CacheControl.clear(spark)
    val (_, all) = bytesOfData(rows(read.select("id", "s", "d18")))
    assert(few > 0 && few < all)
    assert(vectorChunks.isEmpty)
  }

  test("files that a task has open twice") {
    assertReadInTurns(read.select("id", "s", "d18", "day", "moment"))
    assertReadInTurns(read.where("step <> 2 AND s > 's2'").select("id", "s", "d18"))
  }

  test("columns one after the other, beside those of which there are vector chunks") {
    withConf("spark.oap.cache.representation" -> "auto") {
      for (seen <- Seq("step", "s, moment", "d38")) {
        CacheControl.clear(spark)
        for (_ <- 1 to 2) rows(read.selectExpr(seen.split(", ").toSeq: _*))
        assert(vectorChunks.nonEmpty)
        def more = read.where("step > 2 AND s <> 's3'").select("id", "step", "s", "d38", "moment")
        val expected = alone(rows(more))
        for (run <- 1 to 3) assertRows(rows(more), expected, s"run $run after $seen")
      }
    }
  }

  test("stripes of which the pool has nothing, beside those with vector chunks") {
    def from(id: Int) = read.where(s"id >= $id AND s <> 's3'").select("id", "s", "d9", "d38")
    for (size <- Seq("4096", "1000", "8192"); representation <- Seq("auto", "vector"))
      withConf(
        "spark.sql.orc.columnarReaderBatchSize" -> size,
        "spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        for (id <- Seq(10500, 10500, 10500, 0, 0, 0))
          assertRows(rows(from(id)), alone(rows(from(id))), s"from $id on, batches of $size")
        assert(vectorChunks.isEmpty === (size == "1000"))
      }
  }

  test("readers of other columns at one time do not see each other's") {
    val conf = CachingFileSystem.caching(spark.sessionState.newHadoopConf(), Seq.empty.asJava)
    val orc = OrcDecoding(
      spark.sparkContext.broadcast(new SerializableConfiguration(conf)),
      schema,
      schema,
      new StructType,
      Map.empty,
      isCaseSensitive = false,
      pushesFilters = true,
      MemoryMode.ON_HEAP
    )
    val before = conf.asScala.map(one => one.getKey -> one.getValue).toMap
    val file = folder.resolve("flat").toFile.listFiles.find(_.getName.endsWith(".orc")).get
    val part = PartitionedFile(
      InternalRow.empty,
      SparkPath.fromPathString(s"${WatchedFileSystem.Scheme}:$file"),
      0,
      file.length)
    val columns = StructType(schema.filter(field => Seq("s", "id").contains(field.name)))
    val reader = orc.reader(columns, Array(GreaterThan("id", 3L)), 4096, part)
    try assert(reader.next() && reader.get().numCols === 2)
    finally reader.close()
    assert(conf.asScala.map(one => one.getKey -> one.getValue).toMap === before)
  }

  test("partitions, nested columns, columns that files lack, parts of files") {
    spark.range(0, 15000, 1, 1)
      .selectExpr(
        "id",
        "id % 3 AS p",
        "array(id) AS l",
        "struct(id AS a) n",
        "sha2(string(id), 256) AS h")
      .write.options(stripes).partitionBy("p").orc(watched("parts"))
    def parts =
      spark.read
        .schema("id BIGINT, l ARRAY<BIGINT>, n STRUCT<a: BIGINT>, h STRING, none INT, p INT")
        .orc(watched("parts")).selectExpr("*", "_metadata.file_size AS size")
    assertServedByVectors(parts)
    assertServedByVectors(parts.where("id < 50 AND p = 1 AND n.a > 10").drop("l"))
    assertServedByVectors(parts.where("none IS NULL AND id > 14990"))
    withConf("spark.sql.files.maxPartitionBytes" -> "20000") {
      assert(read.rdd.getNumPartitions > 3)
      assertServedByVectors(read)
    }
    written("twice/day=3", FlatTypes.rows(spark, 0, 6000).select("id", "s", "d38", "day"))
    def twice =
      spark.read.schema("id BIGINT, s STRING, d38 DECIMAL(38, 4), day INT").orc(watched("twice"))
    for (run <- 1 to 3) assertRows(rows(twice), alone(rows(twice)), s"run $run")
  }

  test("columns of another type or name than the table's") {
    val files = written(
      "other",
      spark.range(0, 6000, 1, 1).selectExpr(
        "CAST(id AS INT) AS wide",
        "CAST(id AS DECIMAL(9, 2)) AS scaled",
        "concat('v', id % 50) AS name",
        "concat('w', id) AS Upper",
        "concat('c', id % 7) AS c",
        "sha2(string(id), 256) AS h"
      )
    )
    def other = spark.read
      .schema("wide BIGINT, scaled DECIMAL(12, 4), name STRING, upper STRING, c STRING, h STRING")
      .orc(files)
    assertServedByVectors(other.where("wide > 100 AND scaled < 5000 AND name <> 'v3'"))
    withConf("spark.sql.caseSensitive" -> "true")(assertServedByVectors(other))
    sql("CREATE TABLE fixed (wide INT, name CHAR(6), c VARCHAR(1)) USING orc " +
      s"LOCATION '$files'")
    for (query <- Seq("SELECT * FROM fixed", "SELECT wide FROM fixed WHERE name = 'v7'")) {
      val expected = alone(outcome(sql(query)))
      for (_ <- 1 to 3) assert(outcome(sql(query)) === expected, query)
    }
  }

  test("columns by their position") {
    val files = written(
      "positions",
      spark.range(0, 6000, 1, 1).selectExpr("id AS _col0", "sha2(string(id), 256) AS _col1"))
    def named = spark.read.schema("_col1 BIGINT, _col0 STRING").orc(files)
    for (run <- 1 to 3) assertRows(rows(named), alone(rows(named)), s"run $run")
    sql(s"CREATE TABLE named (_col1 BIGINT, _col0 STRING) USING orc LOCATION '$files'")
    CacheControl.clear(spark)
    sql("CACHE SELECT _col1, _col0 FROM named").collect()
    assert(bytesOfData(rows(named))._2 === 0)
    val swapped =
      written(
        "forced",
        spark.range(0, 6000, 1, 1).selectExpr("sha2(string(id), 256) AS id", "id AS s"))
    def forced = spark.read.schema("s STRING, id BIGINT")
      .option("orc.force.positional.evolution", "true").orc(swapped)
    val expected = alone(rows(forced))
    for (run <- 1 to 3) assertRows(rows(forced), expected, s"forced, run $run")
  }

  test("keys of a join") {
    spark.range(0, 40, 1, 1).selectExpr(
      "CAST(id AS INT) AS step",
      "id % 4 AS g").write.parquet(watched("keys"))
    def keys = spark.read.schema("step INT, g BIGINT").parquet(watched("keys")).where("g = 1")
    def joined = read.select("step", "s", "d18").join(keys, "step")
    val counters = assertServedByVectors(joined)
    assert(counters.get(Figure.ROWS_DROPPED) + counters.get(Figure.ZONES_SKIPPED) > 0)
  }

  test("warming loads what is missing, and nothing of what vector chunks have") {
    def all = read.select("id", "s", "moment")
    CacheControl.clear(spark)
    for (_ <- 1 to 3) rows(all)
    val vectors = vectorChunks
    assert(vectors.nonEmpty)
    sql(s"CREATE TABLE warmed (${schema.toDDL}) USING orc LOCATION '$flat'")
    def warm() = sql("CACHE SELECT id, s, moment FROM warmed").collect(): Unit
    val (_, bytes) = bytesOfData(warm())
    assert(bytes === 0)
    assert(vectorChunks.toSet === vectors.toSet)
    CacheControl.clear(spark)
    warm()
    assert(bytesOfData(rows(all))._2 === 0)
  }

  test("a damaged vector chunk") {
    assertDamageIsFound(read.where("step IN (3, 9)"))
  }

  test("a file that is replaced, missing or none of ORC") {
    val path = written("gone", FlatTypes.rows(spark, 0, 6000))
    def gone = spark.read.schema(schema).orc(path)
    for (_ <- 1 to 3) rows(gone)
    FlatTypes.rows(spark, 500, 7000).write.options(stripes).mode("overwrite").orc(path)
    def again = spark.read.schema(schema).orc(path)
    for (run <- 1 to 3) assertRows(rows(again), alone(rows(again)), s"run $run of the new file")
    val file = folder.resolve("gone").toFile.listFiles.find(_.getName.endsWith(".orc")).get
    java.nio.file.Files.writeString(file.toPath, "this is not ORC")
    for (isIgnored <- Seq("false", "true")) {
      withConf("spark.sql.files.ignoreCorruptFiles" -> isIgnored)(assertSameOutcome(again))
      withConf("spark.sql.files.ignoreMissingFiles" -> isIgnored) {
        val plans = Seq.fill(2)(again)
        alone(plans.foreach(_.queryExecution.executedPlan))
        file.delete()
        assertSameOutcome(again)
      }
    }
  }
}
