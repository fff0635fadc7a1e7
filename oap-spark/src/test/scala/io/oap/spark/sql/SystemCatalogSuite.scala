package io.oap.spark.sql

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row}
import org.scalactic.Tolerance._

import io.oap.cache.pool.NativeLibrary
import io.oap.common.OapConfig
import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.executor.ExecutorCache

/** The catalog `oap` as a person at SQL meets it, and what its first tables say. */
class SystemCatalogSuite extends CacheSuite {
  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "96m")

  private def sql(text: String): DataFrame = spark.sql(text)

  private def tables: Seq[String] = sql("SHOW TABLES IN oap.system").collect().map { row =>
    assert(row.getString(0) === "system")
    row.getString(1)
  }.toSeq

  private def assertFails(text: String, condition: String): Unit = {
    val e = intercept[Exception with SparkThrowable](sql(text).collect())
    assert(e.getCondition === condition, text)
  }

  test("the catalog is there without configuration") {
    assert(sql("SHOW NAMESPACES IN oap").collect().toSeq === Seq(Row("system")))
    assert(tables.contains("config") && tables.contains("executors"))
    assert(sql("SHOW CATALOGS").collect().contains(Row("oap")))
  }

  test("each table describes its columns and has rows of them") {
    for (table <- tables) {
      val described = sql(s"DESCRIBE oap.system.$table").collect().takeWhile(_.getString(0) != "")
      val read = spark.table(s"oap.system.$table")
      assert(described.map(_.getString(0)).toSeq === read.columns.toSeq)
      assert(described.map(_.getString(1)).toSeq === read.schema.map(_.dataType.simpleString))
      assert(described.forall(_.getString(2).nonEmpty))
      read.collect()
    }
  }

  test("names are found whatever their case, as those of other tables") {
    assert(sql("SELECT * FROM oap.SYSTEM.Config").count() === OapConfig.ALL.size)
  }

  test("the catalog stays after RESET, and is there in new sessions") {
    sql("RESET")
    assert(sql("SELECT 1 FROM oap.system.config").count() === OapConfig.ALL.size)
    val other = spark.newSession()
    assert(other.sql("SELECT 1 FROM oap.system.config").count() === OapConfig.ALL.size)
  }

  test("USE makes names short") {
    val other = spark.newSession()
    other.sql("USE oap")
    assert(other.sql("SELECT * FROM config").count() === OapConfig.ALL.size)
    assert(other.sql("SHOW TABLES").collect().map(_.getString(1)).contains("executors"))
  }

  test("config has every key with the value of this session") {
    withConf("spark.oap.cache.representation" -> "vector") {
      val rows = sql("SELECT key, value, default, scope FROM oap.system.config").collect()
      assert(rows.map(_.getString(0)).toSeq === OapConfig.ALL.asScala.map(_.key).toSeq)
      val byKey = rows.map(row => row.getString(0) -> row).toMap
      assert(byKey("spark.oap.pool.size").toSeq.tail === Seq("96m", "1g", "static"))
      assert(byKey("spark.oap.cache.representation").toSeq.tail ===
        Seq("vector", "auto", "session"))
    }
    val other = spark.newSession().sql(
      "SELECT value FROM oap.system.config WHERE key = 'spark.oap.cache.representation'")
    assert(other.head().getString(0) === "auto", "of another session")
  }

  test("executors says what the process does") {
    spark.range(0, 10000, 1, 1).selectExpr("id", "id % 10 as b").write.parquet(path("t"))
    CacheControl.clear(spark)
    def read(): Unit = spark.read.parquet(path("t")).collect()
    def executor: Row = sql("SELECT * FROM oap.system.executors").collect() match {
      case Array(one) => one
      case other => fail(other.mkString("\n"))
    }
    read()
    val cold = executor
    assert(cold.getAs[String]("executor_id") === "driver")
    assert(cold.getAs[String]("state") === "open")
    assert(cold.getAs[String]("why") === null)
    assert(cold.getAs[String]("medium") === "dram" && cold.getAs[String]("path") === "")
    assert(cold.getAs[Long]("capacity_bytes") === (96L << 20))
    assert(cold.getAs[Long]("chunks") === 2)
    assert(cold.getAs[Long]("used_bytes") > 0)
    assert(cold.getAs[Long]("pinned_bytes") === 0)
    assert(cold.getAs[String]("native_version") === NativeLibrary.version())
    val counted = CacheControl.localCounters()
    val rate = counted.bytesFromFile / 1e6 / (counted.loadNanos / 1e9)
    assert(rate > 0 && cold.getAs[Double]("load_mb_per_s") === rate +- 1e-9 * rate)
    read()
    val warm = executor
    def moved(column: String): Long = warm.getAs[Long](column) - cold.getAs[Long](column)
    assert(moved("hits") === 2)
    assert(moved("misses") === 0 && moved("bypasses") === 0 && moved("bytes_from_file") === 0)
    assert(moved("bytes_from_pool") > 0)
    CacheControl.clear(spark)
    assert(executor.getAs[Long]("chunks") === 0)
  }

  test("executors says on which nodes the pool lies") {
    spark.range(0, 1000000, 1, 1).selectExpr("xxhash64(id)").write.parquet(path("touched"))
    spark.read.parquet(path("touched")).collect()
    val row = spark.sql("SELECT nodes, used_bytes FROM oap.system.executors").head()
    val (nodes, used) = (row.getAs[Map[Int, Long]]("nodes"), row.getAs[Long]("used_bytes"))
    assume(!ExecutorCache.get().get.bytesOnNodes().isEmpty, "this system does not tell of nodes")
    assert(used > (7L << 20))
    assert(nodes.values.sum >= used && nodes.values.sum <= (96L << 20))
    assert(nodes.keys.forall(node => Files.exists(Path.of(s"/sys/devices/system/node/node$node"))))
  }

  test("system tables filter and join as any table") {
    val joined = sql("""SELECT e.executor_id, c.value, e.capacity_bytes
      FROM oap.system.executors e JOIN oap.system.config c ON c.key = 'spark.oap.pool.size'
      WHERE e.state <> 'not reached' AND e.capacity_bytes > 0""").collect()
    assert(joined.toSeq === Seq(Row("driver", "96m", 96L << 20)))
    assert(sql("SELECT * FROM oap.system.executors WHERE host = 'nobody'").isEmpty)
    val counts = sql("SELECT scope, count(*) FROM oap.system.config GROUP BY scope").collect()
    assert(counts.map(_.getLong(1)).sum === OapConfig.ALL.size)
  }

  test("what is not there is answered as Spark does") {
    assertFails("SELECT * FROM oap.system.nothing", "TABLE_OR_VIEW_NOT_FOUND")
    assertFails("SELECT nothing FROM oap.system.config", "UNRESOLVED_COLUMN.WITH_SUGGESTION")
    assertFails("SHOW TABLES IN oap.nothing", "SCHEMA_NOT_FOUND")
  }

  test("nothing can be changed") {
    for (text <- Seq(
        "DROP TABLE oap.system.config",
        "ALTER TABLE oap.system.config ADD COLUMNS (x INT)",
        "CREATE TABLE oap.system.mine (x INT)",
        "CREATE TABLE oap.system.mine AS SELECT 1",
        "CREATE NAMESPACE oap.mine",
        "DROP NAMESPACE oap.system CASCADE"
      )) {
      assertFails(text, "OAP_READ_ONLY_CATALOG")
    }
    assertFails(
      "INSERT INTO oap.system.config SELECT * FROM oap.system.config",
      "UNSUPPORTED_FEATURE.TABLE_OPERATION")
    assert(tables.contains("config"))
  }
}

/** An application whose user has a catalog named oap. */
class OtherCatalogSuite extends CacheSuite {
  private val theirs = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"

  override protected def settings: Map[String, String] =
    super.settings + (SystemCatalog.Key -> theirs)

  test("it stays the user's") {
    assert(spark.conf.get(SystemCatalog.Key) === theirs)
  }
}

/** A pool in directories says in which. */
class PoolPathSuite extends CacheSuite {
  private def directories: Seq[String] =
    Seq("a", "b").map(name => Files.createDirectories(folder.resolve(name)).toString)

  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.path" -> directories.mkString(","))

  test("executors names the directories") {
    spark.range(10).write.parquet(path("t"))
    spark.read.parquet(path("t")).collect()
    val row = spark.sql("SELECT medium, path, chunks FROM oap.system.executors").head()
    assert(row.toSeq.take(2) === Seq("file", directories.mkString(",")))
    assert(row.getLong(2) > 0)
  }
}

/** A cache that could not be opened says so. */
class CacheOffSuite extends CacheSuite {
  override protected def settings: Map[String, String] =
    Map("spark.oap.pool.path" -> "/nowhere/at/all")

  test("executors says that the cache is off, and why") {
    def row = spark.sql("SELECT state, why, capacity_bytes FROM oap.system.executors").head()
    assert(row === Row("not used yet", null, null))
    spark.range(10).write.parquet(path("t"))
    spark.read.parquet(path("t")).collect()
    assert(row.getString(0) === "off")
    assert(row.getString(1).contains("/nowhere/at/all"))
    assert(row.isNullAt(2))
  }
}
