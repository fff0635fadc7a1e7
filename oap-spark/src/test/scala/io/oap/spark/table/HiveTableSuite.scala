package io.oap.spark.table

import org.apache.spark.metrics.source.HiveCatalogMetrics

/** Hive tables whose Parquet files Spark reads itself, with a metastore in the test's folder. */
class HiveTableSuite extends TableSuite {
  override protected def format: String = "STORED AS PARQUET"

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.sql.catalogImplementation" -> "hive",
    "spark.hadoop.hive.exec.scratchdir" -> path("scratch"),
    "spark.hadoop.javax.jdo.option.ConnectionURL" ->
      s"jdbc:derby:;databaseName=${path("metastore")};create=true"
  )

  test("a Hive table that Spark does not convert is left alone") {
    sql("CREATE TABLE unconverted (id BIGINT) STORED AS PARQUET")
    sql("INSERT INTO unconverted SELECT id FROM range(10)")
    withConf("spark.sql.hive.convertMetastoreParquet" -> "false") {
      assert(cachedScans(executed(sql("SELECT * FROM unconverted"))).isEmpty)
      assertSameRows(sql("SELECT * FROM unconverted"))
    }
    assertServed(sql("SELECT * FROM unconverted"))
  }

  test("partitions of a Hive table lie where the metastore says") {
    sql("CREATE TABLE placed (id BIGINT) PARTITIONED BY (p STRING) STORED AS PARQUET")
    for (p <- Seq("a", "b c", "d%e")) {
      val location = folder.resolve(s"elsewhere-${p.hashCode}")
      spark.range(p.length * 10L).write.parquet(location.toString)
      sql(s"ALTER TABLE placed ADD PARTITION (p = '$p') LOCATION '$location'")
    }
    assertServed(sql("SELECT * FROM placed"))
    assertServed(sql("SELECT id FROM placed WHERE p = 'b c'"))
    sql("ALTER TABLE placed DROP PARTITION (p = 'a')")
    assertServed(sql("SELECT p, count(*), max(id) FROM placed GROUP BY p"))
  }

  test("the metastore is asked for partitions as often as by Spark alone") {
    sql("CREATE TABLE listed (id BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET")
    sql("INSERT INTO listed SELECT id, id % 5 FROM range(100)")
    def fetched(query: String): Long = {
      val counter = HiveCatalogMetrics.METRIC_PARTITIONS_FETCHED
      val before = counter.getCount
      sql(query).collect()
      counter.getCount - before
    }
    for (query <- Seq(
        "SELECT * FROM listed",
        "SELECT a.id FROM listed a JOIN listed b ON a.id = b.id WHERE a.p > 2",
        "SELECT count(*) FROM listed WHERE id IN (SELECT id FROM listed WHERE p = 1)"
      ))
      assert(fetched(query) === alone(fetched(query)), query)
  }

  test("tables whose partitions share folders are not the same") {
    for ((table, value) <- Seq("by_year" -> "2024", "by_name" -> "latest")) {
      sql(s"CREATE TABLE $table (id BIGINT) PARTITIONED BY (p STRING) STORED AS PARQUET")
      val location = folder.resolve("shared")
      spark.range(10).write.mode("overwrite").parquet(location.toString)
      sql(s"ALTER TABLE $table ADD PARTITION (p = '$value') LOCATION '$location'")
    }
    assertServed(
      sql("SELECT p, count(id) FROM by_year GROUP BY p UNION ALL " +
        "SELECT p, count(id) FROM by_name GROUP BY p"))
  }

  test("a partition may say in which time zone its values are") {
    sql("CREATE TABLE zones (id BIGINT) PARTITIONED BY (at TIMESTAMP) STORED AS PARQUET")
    withConf("hive.exec.dynamic.partition.mode" -> "nonstrict") {
      sql("INSERT INTO zones SELECT id, timestamp_seconds(1600000000 + id * 3600) FROM range(40)")
    }
    def moments = sql("SELECT id, unix_micros(at) FROM zones WHERE at IS NOT NULL")
    for (_ <- 1 to 3) rows(moments)
    val before = rows(moments)
    val at = sql("SELECT CAST(min(at) AS STRING) FROM zones").head().getString(0)
    sql(s"ALTER TABLE zones PARTITION (at = '$at') SET SERDEPROPERTIES ('timeZone' = 'Asia/Tokyo')")
    val after = alone(rows(moments))
    assert(after !== before)
    assertRows(rows(moments), after, "after the partition was altered")
  }

  test("what is cached of Hive tables is chosen as for others") {
    sql("CREATE TABLE chosen (id BIGINT) STORED AS PARQUET TBLPROPERTIES ('oap.cache' = 'off')")
    sql("INSERT INTO chosen SELECT id FROM range(10)")
    def isCached(text: String): Boolean = cachedScans(executed(sql(text))).nonEmpty
    assert(!isCached("SELECT * FROM chosen"))
    sql("ALTER TABLE chosen SET TBLPROPERTIES ('oap.cache' = 'on')")
    assert(isCached("SELECT * FROM chosen"))
    // Spark passes no options of readers to Hive tables.
    assert(isCached("SELECT * FROM chosen WITH ('oap.cache' = 'off')"))
    withConf("spark.oap.cache.tables.exclude" -> "default.chosen") {
      assert(!isCached("SELECT * FROM chosen"))
    }
  }
}
