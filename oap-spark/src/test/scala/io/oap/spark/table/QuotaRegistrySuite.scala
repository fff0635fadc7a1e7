package io.oap.spark.table

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.types.StructType
import org.scalatest.concurrent.Eventually._
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.oap.cache.quota.QuotaRule
import io.oap.cache.quota.QuotaRule.Kind
import io.oap.cache.stats.MissCause
import io.oap.spark.{CacheControl, CacheSuite, LogLines, UncompressedTables}

/** What a table, its folders and the configuration say of its room, put together. */
class LimitRulesSuite extends AnyFunSuite {

  private def limits(quotas: String, minimums: String = ""): QuotaRegistry =
    new QuotaRegistry(Map(
      "spark.oap.cache.tables.quotas" -> quotas,
      "spark.oap.cache.tables.minimums" -> minimums).get)

  private def read(limits: QuotaRegistry, paths: String*): Seq[(String, String)] =
    limits.isRead(None, paths.map(new Path(_)))(identity).map(text).sorted

  private def text(limit: QuotaRule): (String, String) =
    limit.account -> s"${limit.kind} ${limit.share}"

  test("nothing is said of tables that nobody limits") {
    assert(read(limits(""), "s3a://lake/raw/orders") === Nil)
    assert(read(limits("orders=10%, /refined=1g"), "s3a://lake/raw/orders") === Nil)
  }

  test("a table without a folder has no room of its own") {
    val table = CatalogTable(
      TableIdentifier("orders"),
      CatalogTableType.EXTERNAL,
      CatalogStorageFormat.empty,
      new StructType)
    assert(limits("orders=10%").isRead(Some(table), Nil)(identity) === Nil)
  }

  test("all under a path shares its quota, and a pattern is the topmost folder it stands for") {
    val some = limits("/lake/a=1g, s3a://pool/*=10%, */orders=5m", "/lake=20%")
    assert(read(some, "file:/lake/a/x/y=1") ===
      Seq("file:/lake" -> "MINIMUM 20%", "file:/lake/a" -> "QUOTA 1g"))
    assert(read(some, "s3a://pool/a/x", "s3a://pool/b") ===
      Seq("s3a://pool/a" -> "QUOTA 10%", "s3a://pool/b" -> "QUOTA 10%"))
    assert(read(some, "file:/other/orders/day=1") === Seq("file:/other/orders" -> "QUOTA 5m"))
    assert(some.of(Kind.QUOTA, "file:/lake/a/x/part-0").map(_.text) === Some("1g"))
    assert(some.of(Kind.MINIMUM, "file:/lake/a/x/part-0").map(_.text) === Some("20%"))
    assert(some.of(Kind.QUOTA, "file:/lake/b/part-0") === None)
  }

  test("what is said has a version of its own, and is said again as it is") {
    val some = limits("/lake=1g")
    def isRead(paths: String*): Seq[QuotaRule] =
      some.isRead(None, paths.map(new Path(_)))(identity)
    val first = isRead("file:/lake/x")
    assert(isRead("file:/lake/y") === first)
    val second = isRead("s3a://b/lake", "s3a://lake/lake")
    assert(second.map(_.account).sorted === Seq("s3a://b/lake", "s3a://lake/lake"))
    assert((first ++ second).map(_.version).distinct.size === 3)
  }
}

/** Tables with quotas and minimums, read by real queries: the rows are the same. */
class QuotaRegistrySuite extends CacheSuite with UncompressedTables {
  private val Pool = 8 << 20
  private val Quota = Pool / 4

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> Pool.toString,
    "spark.oap.pool.policy" -> "lru",
    "spark.oap.cache.tables.quotas" -> "default.limited=25%, */tenants/*=900k",
    "spark.oap.cache.tables.minimums" -> "sure=10%"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("limited", 16)
    table("sure", 2)
    table("t", 2)
    table("wide", 28)
  }

  override protected def afterAll(): Unit = {
    CacheControl.clear(spark)
    super.afterAll()
  }

  /** What oap.system.tables says of a table: bytes, quota, minimum. */
  private def row(name: String): (Long, String, String) = {
    val row = sql("SELECT most_bytes, quota, minimum FROM oap.system.tables " +
      s"WHERE table LIKE '%.$name'").head()
    (row.getLong(0), row.getString(1), row.getString(2))
  }

  for (representation <- Seq("encoded", "auto", "vector")) {
    test(s"a table has no more than its quota, and hits what it has: $representation") {
      withConf("spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        read("t").collect()
        assertSameRows(read("limited"))
        read("t").collect()
        for (_ <- 1 to 3) {
          val warm = counters(read("limited"))
          assert(warm.chunksHit >= 4 && warm.chunks(MissCause.NOT_ADMITTED) > 0)
          val (bytes, quota, minimum) = row("limited")
          assert(bytes > Quota - 8 * Rows - 1000 && bytes <= Quota)
          assert(quota === "25%" && minimum === null)
        }
        assert(isWarm(read("t")), "it displaces its own chunks only")
      }
    }
  }

  test("oap.system.scans lists what a quota did not admit") {
    table("counted", 8, "TBLPROPERTIES ('oap.cache.quota' = '1m')")
    CacheControl.clear(spark)
    val counted = counters(read("counted"))
    assert(counted.chunksMissed >= 2 && counted.chunks(MissCause.NOT_ADMITTED) > 0)
    eventually(timeout(1.minute)) {
      val scans = sql("SELECT misses, bypasses_not_admitted, bypasses FROM oap.system.scans " +
        "WHERE table LIKE '%.counted'").collect().toSeq
      assert(scans === Seq(Row(
        counted.chunksMissed,
        counted.chunks(MissCause.NOT_ADMITTED),
        counted.chunksBypassed)))
    }
    sql("DROP TABLE counted")
  }

  test("what was read of a table stays up to its minimum, in all representations") {
    for (representation <- Seq("encoded", "auto", "vector")) {
      withConf("spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        assertSameRows(read("sure"))
        read("t").collect()
        sweep()
        assert(isWarm(read("sure")), representation)
        assert(!isWarm(read("t")), "what is not sure has left")
        assert(row("sure")._3 === "10%")
      }
    }
  }

  test("properties of a table hold from the next query that reads it") {
    table("mine", 8)
    CacheControl.clear(spark)
    read("mine").collect()
    assert(row("mine")._1 > 8 * 8 * Rows && row("mine")._2 === null)
    sql("ALTER TABLE mine SET TBLPROPERTIES ('oap.cache.quota' = '1m')")
    read("mine").collect()
    val (bytes, quota, _) = row("mine")
    assert(bytes > 0 && bytes <= (1 << 20) && quota === "1m")
    sql("ALTER TABLE mine UNSET TBLPROPERTIES ('oap.cache.quota')")
    sql("ALTER TABLE mine SET TBLPROPERTIES ('oap.cache.minimum' = '30%')")
    read("mine").collect()
    read("mine").collect()
    assert(row("mine")._1 > 8 * 8 * Rows)
    sweep()
    assert(row("mine")._1 > Pool / 10 * 3 - 8 * Rows - 1000)
    assert(counters(read("mine")).chunksHit >= 5)
    sql("ALTER TABLE mine UNSET TBLPROPERTIES ('oap.cache.minimum')")
    read("mine").collect()
    sweep()
    assert(counters(read("mine")).chunksHit === 0)
    sql("DROP TABLE mine")
  }

  test("who reads the files counts for nothing: sessions, views, paths, other tables") {
    CacheControl.clear(spark)
    read("limited").collect()
    val file = spark.table("limited").inputFiles.head
    val folder = file.take(file.lastIndexOf('/'))
    sql(s"CREATE TABLE alias USING parquet LOCATION '$folder'")
    sql("CREATE VIEW seen AS SELECT * FROM limited")
    val other = spark.newSession()
    for (query <- Seq(
        () => read("limited", other),
        () => read("alias", other),
        () => read("seen"),
        () => spark.read.parquet(folder),
        () => other.read.parquet(folder))) {
      assertSameRows(query())
      val bytes = sql("SELECT sum(most_bytes) FROM oap.system.tables WHERE quota = '25%'")
      assert(bytes.head().getLong(0) > 0 && bytes.head().getLong(0) <= Quota)
    }
    // An opinion of the other table is one about the same files.
    sql("ALTER TABLE alias SET TBLPROPERTIES ('oap.cache.quota' = '500k')")
    read("alias").collect()
    assert(row("alias")._1 <= 500 * 1024)
    read("alias", other).collect()
    assert(row("alias")._2 === "500k", "that session read it before it was altered")
    read("limited").collect()
    assert(row("limited")._2 === "25%", "who was planned last decides")
    sql("DROP VIEW seen")
    sql("DROP TABLE alias")
  }

  test("all under a folder shares its quota") {
    CacheControl.clear(spark)
    for (name <- Seq("tenants/a/x", "tenants/a/y", "tenants/b/x")) {
      spark.range(0, Rows, 1, 1).selectExpr(columns(name, 4): _*).write.parquet(path(name))
      spark.read.parquet(path(name)).collect()
    }
    val bytes = sql("SELECT table, most_bytes FROM oap.system.tables WHERE quota = '900k'")
      .collect().map(row => row.getString(0).takeRight(11) -> row.getLong(1)).toMap
    assert(bytes.getOrElse("tenants/a/x", 0L) + bytes.getOrElse("tenants/a/y", 0L) <= 900 * 1024)
    assert(bytes("tenants/b/x") > 8 * Rows && bytes("tenants/b/x") <= 900 * 1024)
  }

  test("a property that is no share is warned about once, and ignored") {
    table("odd", 2, "TBLPROPERTIES ('oap.cache.quota' = 'half')")
    val lines = LogLines.of(for (_ <- 1 to 2) assertSameRows(read("odd")))
    assert(lines.filter(_.contains("oap.cache.quota")) === Seq(
      "The property oap.cache.quota of `spark_catalog`.`default`.`odd` is a part of each " +
        "executor's pool such as 60%, 512m or 10g; 'half' is ignored."))
  }

  test("minimums that are more than there is are warned about once") {
    val lines = LogLines.of {
      for (name <- Seq("most", "more")) {
        table(name, 2, "TBLPROPERTIES ('oap.cache.minimum' = '60%')")
        for (_ <- 1 to 2) read(name).collect()
      }
    }
    assert(lines.count(_.contains("minimums of the tables read so far come to 130.0 %")) === 1)
  }

  test("resize counts for quotas and minimums") {
    CacheControl.clear(spark)
    for (_ <- 1 to 2) Seq("limited", "sure").foreach(read(_).collect())
    sql(s"CALL oap.system.resize(${Pool / 2})").collect()
    assert(row("limited")._1 <= Quota / 2)
    sql(s"CALL oap.system.resize($Pool)").collect()
    for (_ <- 1 to 2) read("limited").collect()
    assert(row("limited")._1 > Quota / 2 && row("limited")._1 <= Quota)
  }
}
