package io.oap.spark.optimizer

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types._

import io.oap.spark.{CacheSuite, PlainKeys}

/** What the cache does not serve is planned as Spark alone plans it, and right. */
class UnservedSuite extends CacheSuite {

  /** Asserts the rows of Spark alone, from Spark's own scans, without a look at the pool. */
  private def assertUnserved(query: => DataFrame): SparkPlan = {
    val plan = executed(query)
    assert(cachedScans(plan).isEmpty, plan)
    val counters = assertSameRows(query)
    assert(counters.chunksHit + counters.chunksMissed + counters.chunksBypassed === 0)
    plan
  }

  private lazy val plain: String = {
    spark.range(0, 1000, 1, 2).selectExpr("id", "id % 5 as k").write.parquet(path("plain"))
    path("plain")
  }

  test("a session that has the cache switched off") {
    def read: DataFrame = spark.read.parquet(plain).filter("id > 10")
    assert(cachedScans(executed(read)).size === 1)
    withConf("spark.oap.cache.enabled" -> "false") {
      val plan = assertUnserved(read)
      assert(collect(plan) { case scan: FileSourceScanExec => scan }.size === 1)
    }
    val never = spark.newSession()
    never.sql("SET spark.oap.cache.enabled=FALSE")
    assert(cachedScans(executed(never.read.parquet(plain))).isEmpty)
  }

  test("formats that extend Parquet's") {
    def read: DataFrame = spark.read.format(classOf[FirstColumnFormat].getName).load(plain)
    assertUnserved(read)
  }

  test("user-defined types") {
    val schema = StructType(Seq(
      StructField("id", LongType),
      StructField("point", new PointType),
      StructField("many", ArrayType(new PointType))))
    val data = Seq.tabulate(50)(i => Row(i.toLong, Point(i, 1), Seq(Point(i, 2))))
    val rdd = spark.sparkContext.makeRDD(data, 1)
    spark.createDataFrame(rdd, schema).write.parquet(path("points"))
    assertUnserved(spark.read.parquet(path("points")))
    assertUnserved(spark.read.parquet(path("points")).select("id"))
  }

  test("streams") {
    val schema = spark.read.parquet(plain).schema
    def streamed(name: String): Seq[String] = {
      val query = spark.readStream.schema(schema).parquet(plain).filter("id % 2 = 0").writeStream
        .format("memory").queryName(name).start()
      try {
        query.processAllAvailable()
        assert(query.exception.isEmpty)
      } finally query.stop()
      rows(spark.table(name))
    }
    val expected = rows(spark.read.parquet(plain).filter("id % 2 = 0"))
    val (batch, counters) = counting(streamed("memory_sink"))
    assert(batch === expected)
    assert(counters.chunksHit + counters.chunksMissed === 0)
    assert(alone(streamed("alone_sink")) === expected)
  }

  test("batches of a stream may read tables through the cache") {
    val schema = spark.read.parquet(plain).schema
    rows(spark.read.parquet(plain))
    @volatile var found = -1L
    val (_, counters) = counting {
      val query = spark.readStream.schema(schema).parquet(plain).writeStream
        .foreachBatch { (batch: DataFrame, _: Long) =>
          found = batch.join(batch.sparkSession.read.parquet(plain), "id").count()
        }
        .start()
      try query.processAllAvailable()
      finally query.stop()
    }
    assert(found === 1000)
    assert(counters.chunksHit > 0)
    assert(counters.bytesFromFile === 0)
  }

  test("encrypted files") {
    val crypto = Map(
      "parquet.crypto.factory.class" ->
        "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
      "parquet.encryption.kms.client.class" -> classOf[PlainKeys].getName
    )
    val keys = Map(
      "parquet.encryption.column.keys" -> "columnKey: s",
      "parquet.encryption.footer.key" -> "footerKey")
    for (isFooterPlain <- Seq("true", "false")) {
      val files = path(s"encrypted-$isFooterPlain")
      spark.range(500).selectExpr("id", "concat('secret ', id) as s").write
        .options(crypto ++ keys + ("parquet.encryption.plaintext.footer" -> isFooterPlain))
        .parquet(files)
      val schema = "id BIGINT, s STRING"
      assertUnserved(spark.read.options(crypto).schema(schema).parquet(files))
      // Without the keys: what can be read may be read, and nothing that cannot.
      for (column <- Seq("id", "s"); more <- Seq(Nil, Seq("_metadata.file_name"))) {
        val outcome =
          assertSameOutcome(spark.read.schema(schema).parquet(files).select(column, more: _*))
        assert(outcome.isRight === (isFooterPlain == "true" && column == "id"), column)
      }
    }
  }
}

/** Parquet, of which only the first column is seen. */
class FirstColumnFormat extends ParquetFileFormat {
  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] =
    super.inferSchema(session, options, files).map(schema => StructType(schema.fields.take(1)))
}

final case class Point(x: Double, y: Double)

/** A user-defined type over a struct. */
class PointType extends UserDefinedType[Point] {
  override def sqlType: DataType =
    StructType(Seq(StructField("x", DoubleType), StructField("y", DoubleType)))

  override def serialize(point: Point): Any = InternalRow(point.x, point.y)

  override def deserialize(datum: Any): Point = {
    val row = datum.asInstanceOf[InternalRow]
    Point(row.getDouble(0), row.getDouble(1))
  }

  override def userClass: Class[Point] = classOf[Point]
}
