package io.oap.spark.filescan

import org.apache.spark.sql.DataFrame

/** ORC files, read by Spark's V1 scan. */
class OrcScanSuite extends FileScanSuite {

  private val schema = "id BIGINT, s STRING, d DECIMAL(20, 3), t TIMESTAMP, " +
    "n STRUCT<a: INT, b: STRING>, l ARRAY<STRING>, m MAP<STRING, INT>, k INT"

  private def written(codec: String): DataFrame = {
    val files = watched(s"orc-$codec")
    spark.range(0, 20000, 1, 2).selectExpr(
      "id",
      "IF(id % 7 = 0, NULL, concat('s', id % 131)) AS s",
      "CAST(id / 3 AS DECIMAL(20, 3)) AS d",
      "timestamp_seconds(id * 1000) AS t",
      "named_struct('a', CAST(id AS INT), 'b', sha2(CAST(id AS STRING), 256)) AS n",
      "array(concat('x', id), 'y') AS l",
      "map('m', CAST(id AS INT)) AS m",
      "CAST(id % 3 AS INT) AS k"
    ).write.mode("overwrite").partitionBy("k").option("compression", codec)
      .option("orc.stripe.size", "65536").orc(files)
    spark.read.schema(schema).orc(files)
  }

  for (codec <- Seq("none", "snappy", "zlib", "zstd", "lz4", "lzo"))
    test(s"all types, $codec") {
      def files = spark.read.schema(schema).orc(watched(s"orc-$codec"))
      written(codec)
      assertServedByFiles(files)
    }

  test("some columns and rows") {
    written("zstd")
    def files = spark.read.schema(schema).orc(watched("orc-zstd"))
    assertServedByFiles(files.where("id BETWEEN 5000 AND 5100 AND k = 1").select("id", "s"))
    assertServedByFiles(files.groupBy("k").agg("d" -> "sum", "t" -> "max"))
    assertServedByFiles(files.select("n.b", "l", "_metadata.file_name"))
    withConf("spark.sql.orc.enableVectorizedReader" -> "false")(assertServedByFiles(files))
    withConf("spark.oap.cache.formats" -> "parquet") {
      assert(cachedFileScans(executed(files)).isEmpty)
    }
  }
}
