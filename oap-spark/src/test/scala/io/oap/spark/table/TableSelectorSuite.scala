package io.oap.spark.table

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.{CacheSuite, LogLines}

/** Which names and paths a pattern stands for. */
class TablePatternSuite extends AnyFunSuite {
  private val names = Seq("spark_catalog.Sales.orders", "Sales.orders", "orders")
  private val paths = Seq(new Path("s3a://lake/raw/orders"), new Path("s3a://lake/raw/more"))

  private def isName(pattern: String): Boolean = {
    val found = new TablePattern(pattern).matchesAny(names, Nil)
    assert(new TablePattern(pattern).matchesAll(names, Nil) === found)
    found
  }

  test("names, with and without database and catalog, whatever their case") {
    for (pattern <- Seq(
        "orders",
        "ORDERS",
        "sales.orders",
        "spark_catalog.sales.orders",
        "sales.*",
        "*",
        "o*s",
        "order?",
        "*.orders")) {
      assert(isName(pattern), pattern)
    }
    for (pattern <- Seq("order", "sales", "other.orders", "o?s", "order?s", "sales_orders", ".*")) {
      assert(!isName(pattern), pattern)
    }
  }

  test("what regular expressions know is nothing special") {
    assert(new TablePattern("a+b[c]").matchesAny(Seq("a+b[c]"), Nil))
    assert(!new TablePattern("a.b").matchesAny(Seq("axb"), Nil))
    assert(!new TablePattern("a|b").matchesAny(Seq("a"), Nil))
  }

  test("paths, with and without scheme, and folders above them") {
    for (pattern <- Seq(
        "s3a://lake/raw/orders",
        "s3a://lake/raw/",
        "s3a://lake/*",
        "/raw",
        "/",
        "/r?w",
        "*/orders")) {
      assert(new TablePattern(pattern).matchesAny(names, paths), pattern)
    }
    for (pattern <-
        Seq("s3a://lake/ra", "s3a://pond/raw", "/raw/Orders", "/raw/orders/x", "raw/")) {
      assert(!new TablePattern(pattern).matchesAny(names, paths), pattern)
    }
  }

  test("the topmost folder that a pattern stands for") {
    def topmost(pattern: String) = new TablePattern(pattern).topmost(paths.head).map(_.toString)
    assert(topmost("s3a://lake/*") === Some("s3a://lake/raw"))
    assert(topmost("*/orders") === Some("s3a://lake/raw/orders"))
    assert(topmost("/raw/") === Some("s3a://lake/raw"))
    assert(topmost("/") === Some("s3a://lake/"))
    assert(topmost("/refined/*") === None && topmost("orders") === None)
  }

  test("some paths or all of them") {
    assert(new TablePattern("/raw/orders").matchesAny(Nil, paths))
    assert(!new TablePattern("/raw/orders").matchesAll(Nil, paths))
    assert(new TablePattern("/raw").matchesAll(Nil, paths))
    assert(!new TablePattern("/raw").matchesAll(Nil, Nil))
  }
}

/** What users choose to cache is cached, and nothing else; the rows are the same. */
class TableSelectorSuite extends CacheSuite {
  private val Include = "spark.oap.cache.tables.include"
  private val Exclude = "spark.oap.cache.tables.exclude"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("orders", "items")) {
      spark.sql(s"CREATE TABLE $name (id BIGINT, v STRING) USING parquet")
      spark.sql(s"INSERT INTO $name SELECT id, concat('v', id) FROM range(100)")
    }
    spark.range(50).write.parquet(path("lake/raw/clicks"))
  }

  private def orders: DataFrame = spark.table("orders")
  private def clicks: DataFrame = spark.read.parquet(path("lake/raw/clicks"))

  private def isCached(query: => DataFrame): Boolean = {
    assertSameRows(query)
    cachedScans(executed(query)).nonEmpty
  }

  test("all tables, when nothing is chosen") {
    assert(isCached(orders) && isCached(clicks))
  }

  test("a session includes tables") {
    withConf(Include -> "default.orders, other*") {
      assert(isCached(orders))
      assert(!isCached(spark.table("items")))
      assert(!isCached(clicks))
    }
    withConf(Include -> s"file:${path("lake")}") {
      assert(!isCached(orders))
      assert(isCached(clicks))
    }
  }

  test("a session excludes tables, also included ones") {
    withConf(Exclude -> "ord*", Include -> "orders,items") {
      assert(!isCached(orders))
      assert(isCached(spark.table("items")))
    }
    withConf(Exclude -> "*/raw/*") {
      assert(isCached(orders))
      assert(!isCached(clicks))
    }
  }

  test("only the chosen table of a join") {
    withConf(Exclude -> "items") {
      def join: DataFrame = spark.sql("SELECT * FROM orders JOIN items USING (id)")
      assertSameRows(join)
      assert(cachedScans(executed(join)).map(_.readSchema().size) === Seq(2))
    }
  }

  test("a session's choice is its own") {
    val other = spark.newSession()
    withConf(Exclude -> "*") {
      assert(!isCached(orders))
      val read = other.table("orders")
      read.collect()
      assert(cachedScans(read.queryExecution.executedPlan).nonEmpty)
    }
  }

  test("a table's property, as it is changed") {
    spark.sql("CREATE TABLE mine (id BIGINT) USING parquet TBLPROPERTIES ('oap.cache' = 'off')")
    spark.sql("INSERT INTO mine SELECT id FROM range(10)")
    def mine: DataFrame = spark.table("mine")
    assert(!isCached(mine))
    withConf(Include -> "mine")(assert(isCached(mine), "the session decides before the table"))
    spark.sql("ALTER TABLE mine SET TBLPROPERTIES ('oap.cache' = 'ON')")
    assert(isCached(mine))
    withConf(Include -> "orders")(assert(isCached(mine), "on is as good as included"))
    withConf(Exclude -> "mine")(assert(!isCached(mine)))
    spark.sql("ALTER TABLE mine UNSET TBLPROPERTIES ('oap.cache')")
    assert(isCached(mine))
    withConf(Include -> "orders")(assert(!isCached(mine)))
  }

  test("a DataFrame that Spark has cached is found whatever the property is then") {
    spark.sql("CREATE TABLE held (id BIGINT) USING parquet")
    spark.sql("INSERT INTO held SELECT id FROM range(10)")
    val before = spark.table("held").filter("id > 3").cache()
    try {
      assert(before.count() === 6)
      for (value <- Seq("off", "on")) {
        spark.sql(s"ALTER TABLE held SET TBLPROPERTIES ('oap.cache' = '$value')")
        assert(spark.table("held").filter("id > 3").count() === 6)
      }
    } finally before.unpersist()
  }

  test("a property that is none of these words is warned about once, and ignored") {
    spark.sql("CREATE TABLE odd (id BIGINT) USING parquet TBLPROPERTIES ('oap.cache' = 'maybe')")
    val lines = LogLines.of(for (_ <- 1 to 2) assert(isCached(spark.table("odd"))))
    assert(lines.filter(_.contains("oap.cache")) === Seq(
      "The property oap.cache of `spark_catalog`.`default`.`odd` is on, off or pinned; " +
        "'maybe' is ignored."))
  }

  test("an option that a table was created with counts as its property") {
    spark.sql("CREATE TABLE typo (id BIGINT) USING parquet OPTIONS ('OAP.Cache' = 'of')")
    spark.sql("INSERT INTO typo SELECT id FROM range(10)")
    val lines = LogLines.of(for (_ <- 1 to 2) assert(isCached(spark.table("typo"))))
    assert(lines.filter(_.contains("oap.cache")) === Seq(
      "The property oap.cache of `spark_catalog`.`default`.`typo` is on, off or pinned; " +
        "'of' is ignored."))
    assert(!isCached(spark.sql("SELECT /*+ OAP_CACHE(off) */ * FROM typo")))

    spark.sql("CREATE TABLE quiet (id BIGINT) USING parquet OPTIONS ('oap.cache' = 'off')")
    spark.sql("INSERT INTO quiet SELECT id FROM range(10)")
    def quiet: DataFrame = spark.table("quiet")
    assert(!isCached(quiet))
    withConf(Include -> "quiet")(assert(isCached(quiet), "the session decides before the table"))
    assert(isCached(spark.sql("SELECT /*+ OAP_CACHE(on) */ * FROM quiet")))
    spark.sql("ALTER TABLE quiet SET TBLPROPERTIES ('oap.cache' = 'on')")
    assert(isCached(quiet), "a property that is set later decides")
    def hinted: DataFrame = spark.sql("SELECT /*+ OAP_CACHE(off) */ * FROM quiet")
    assert(!isCached(hinted), "a hint decides before the table, also by the word of its option")
  }

  for (v1 <- Seq("parquet", "")) {
    test(s"the reader's option, with useV1SourceList='$v1'") {
      withConf("spark.sql.sources.useV1SourceList" -> v1, Exclude -> "/nowhere") {
        val reader = spark.read.option("oap.cache", "off")
        assert(!isCached(reader.parquet(path("lake/raw/clicks"))))
        withConf(Exclude -> "*/raw/*") {
          assert(isCached(spark.read.option("OAP.Cache", "On").parquet(path("lake/raw/clicks"))))
        }
      }
    }
  }

  test("the reader's option for a table of the catalog, from Scala and SQL") {
    assert(!isCached(spark.read.option("oap.cache", "off").table("orders")))
    assert(!isCached(spark.sql("SELECT * FROM orders WITH ('oap.cache' = 'off')")))
    withConf(Exclude -> "orders") {
      assert(isCached(spark.sql("SELECT * FROM orders WITH ('oap.cache' = 'on')")))
    }
  }

  test("an option that is none of these words is an error") {
    val e = intercept[AnalysisException](
      spark.read.option("oap.cache", "perhaps").parquet(path("lake/raw/clicks")).collect())
    assert(e.getCondition === "OAP_INVALID_OPTION")
    assert(e.getMessage ===
      "[OAP_INVALID_OPTION] The option oap.cache is on, off or pinned, not 'perhaps'. SQLSTATE: 22023")
  }
}
