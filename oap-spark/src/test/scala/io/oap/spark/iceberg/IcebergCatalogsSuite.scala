package io.oap.spark.iceberg

import io.oap.spark.WatchedFileSystem

/** Iceberg tables of other catalogs than the one of the other suites, and tables that are only paths. */
class IcebergCatalogsSuite extends IcebergSuite {

  private def warehouse(name: String): String = s"${WatchedFileSystem.Scheme}://$folder/$name"

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.sql.catalog.base" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.base.type" -> "jdbc",
    "spark.sql.catalog.base.uri" -> s"jdbc:sqlite:$folder/catalog.db",
    "spark.sql.catalog.base.warehouse" -> warehouse("base"),
    "spark.sql.catalog.spark_catalog" -> "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type" -> "hadoop",
    "spark.sql.catalog.spark_catalog.warehouse" -> warehouse("session")
  )

  private def write(table: String): Unit = {
    sql(s"CREATE TABLE $table (id BIGINT, v STRING) USING iceberg " +
      "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sql(s"INSERT INTO $table SELECT id, concat('v', id % 100) FROM range(20000)")
    sql(s"DELETE FROM $table WHERE id % 1000 = 7")
  }

  private def assertIsServed(table: String): Unit = {
    def query = sql(s"SELECT v, count(*), sum(id) FROM $table WHERE id >= 5 GROUP BY v")
    assertWarm(query)
    assert(isCached(query))
  }

  test("a catalog in a database") {
    sql("CREATE NAMESPACE base.db")
    write("base.db.t")
    assertIsServed("base.db.t")
    withConf("spark.oap.cache.tables.exclude" -> "base.db.t") {
      assert(!isCached(sql("SELECT * FROM base.db.t")))
    }
  }

  test("the session's own catalog, beside tables that are not of Iceberg") {
    write("default.t")
    assertIsServed("default.t")
    assertIsServed("t")
    sql("CREATE TABLE plain USING parquet AS SELECT id, 'v1' AS v FROM range(5000)")
    def joined = sql("SELECT count(*), sum(t.id) FROM t JOIN plain p ON t.v = p.v AND t.id = p.id")
    assertWarm(joined)
    // The join's keys, which drop rows of the Iceberg table, come from its broadcast: one scan, met again.
    assert(isCached(joined) && cachedScans(executed(joined)).distinct.size === 1)
  }

  test("a table that is only a path") {
    write("ice.db.p")
    def query = spark.read.format("iceberg").load(s"${warehouse("ice")}/db/p").groupBy("v").count()
    assertWarm(query)
    assert(isCached(query))
  }
}
