package io.oap.spark.read

import io.oap.spark.CacheSuite

/** Every codec, with types that Spark's decoders take out of the pages' buffers in different ways. */
class CodecSuite extends CacheSuite {
  for (codec <- Seq("uncompressed", "snappy", "gzip", "zstd", "lz4_raw");
    legacy <- Seq(true, false))
    test(s"codec $codec, decimals as fixed-length bytes $legacy") {
      val files = path(s"$codec$legacy")
      withConf("spark.sql.parquet.writeLegacyFormat" -> legacy.toString) {
        spark
          .range(0, 2000, 1, 2)
          .selectExpr(
            "cast(id % 50 as decimal(10, 2)) as short",
            "cast(id as decimal(30, 5)) as long",
            "cast(id % 20 as string) as word",
            "cast(cast(id % 30 as string) as binary) as bytes",
            "array(id, id + 1) as items"
          )
          .write
          .option("compression", codec)
          .parquet(files)
      }
      assertServed(spark.read.parquet(files))
      assertServed(spark.read.parquet(files).where("short = 7 or word = '3'"))
    }
}
