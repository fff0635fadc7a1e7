package io.oap.spark.dataframe

import io.oap.spark.iceberg.IcebergSuite

/** Cached DataFrames of Iceberg tables, whose own reader has vectors of its own. */
class IcebergFramesSuite extends IcebergSuite with FramesInPool {
  private val types =
    Seq("INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "STRING") ++
      Seq(9, 18, 30).map(digits => s"DECIMAL($digits, 2)")

  test("columns_thatFilesDoNotHave_areNull") {
    sql("CREATE TABLE ice.db.grows (id BIGINT) USING iceberg")
    sql("INSERT INTO ice.db.grows SELECT id FROM range(5000)")
    for ((added, i) <- types.zipWithIndex) sql(s"ALTER TABLE ice.db.grows ADD COLUMN c$i $added")
    val values = types.map(added => s"IF(id % 3 = 0, NULL, CAST(CAST(id % 2 AS INT) AS $added))")
      .map(_.replace("CAST(CAST(id % 2 AS INT) AS DATE)", "DATE '2024-01-01'"))
    def frame = spark.table("ice.db.grows")
    def assertAll(): Unit = for (formats <- Seq("parquet,iceberg", "parquet"))
      withConf("spark.oap.cache.formats" -> formats)(assertCached(frame))
    assertAll()
    sql(s"INSERT INTO ice.db.grows SELECT id, ${values.mkString(", ")} FROM range(5000)")
    assertAll()
  }

  test("partitions_withoutAValue_areNull") {
    sql("CREATE TABLE ice.db.parts (id BIGINT, part INT) USING iceberg PARTITIONED BY (part) " +
      "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')")
    sql("INSERT INTO ice.db.parts SELECT id, IF(id % 2 = 0, NULL, 7) FROM range(5000)")
    sql("DELETE FROM ice.db.parts WHERE id % 100 = 2")
    for (formats <- Seq("parquet,iceberg", "parquet"))
      withConf("spark.oap.cache.formats" -> formats)(assertCached(spark.table("ice.db.parts")))
  }
}
