package io.oap.spark.sql

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row

import io.oap.spark.{CacheControl, CacheSuite, DamagedPool, UncompressedTables}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.table.{PinnedColumns, PinnedTables}

/** Pinned tables stay in the pool, whatever else is read; verify finds bytes that have changed. */
class PinSuite extends CacheSuite with UncompressedTables {

  override protected def settings: Map[String, String] =
    Map("spark.oap.pool.size" -> "8m", "spark.oap.pool.policy" -> "lru")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("t", 2)
    table("other", 2)
    table("wide", 28)
  }

  override protected def afterAll(): Unit = {
    CacheControl.clear(spark)
    super.afterAll()
  }

  private def call(text: String): Row = sql(s"CALL oap.system.$text").collect().head

  private def pinned: Map[String, Set[String]] = sql(
    "SELECT f.table, c.column FROM oap.system.chunks c JOIN oap.system.files f USING (path) " +
      "WHERE pinned").collect().toSeq.groupMap(_.getString(0))(_.getString(1))
    .map { case (name, columns) => name.split('.').last -> columns.toSet }

  private def assertRefused(text: String, condition: String): Unit = {
    val before = pinned
    val e = intercept[Exception with SparkThrowable](call(text))
    assert(e.getCondition === condition, text)
    assert(pinned === before)
  }

  test("a pinned table stays, an unpinned one leaves") {
    CacheControl.clear(spark)
    read("t").collect()
    val row = call("pin('t')")
    assert(row.getLong(1) === 2 && row.getLong(2) > 2 * 8 * Rows && row.getLong(3) === 0)
    assert(row.isNullAt(5))
    val figure = sql("SELECT pinned_bytes FROM oap.system.executors").head().getLong(0)
    assert(figure >= row.getLong(2) && figure < row.getLong(2) + 2 * 64, "rounded up to 64 each")
    sweep()
    assert(isWarm(read("t")))
    assert(pinned === Map("t" -> Set("c0", "c1")))
    assert(call("unpin('t')").getLong(1) === 2)
    assert(pinned === Map.empty)
    sweep()
    assert(!isWarm(read("t")))
  }

  test("columns are pinned and unpinned one by one, and what comes later is pinned as well") {
    CacheControl.clear(spark)
    assert(call("pin('t', array('C1'))").getLong(1) === 0)
    read("t").collect()
    assert(pinned === Map("t" -> Set("c1")))
    call("pin('t', array('c0'))")
    assert(pinned === Map("t" -> Set("c0", "c1")))
    assert(call("unpin('t', array('c1'))").getLong(1) === 1)
    assert(pinned === Map("t" -> Set("c0")))
    CacheControl.clear(spark)
    assert(pinned === Map.empty)
    sql("CACHE SELECT * FROM t").collect()
    assert(pinned === Map("t" -> Set("c0")))
    call("pin(`table` => 't')")
    call("unpin('t', array('c0'))")
    assert(pinned === Map("t" -> Set("c1")))
    call("unpin('t')")
    assert(PinnedTables.of(spark.sparkContext).of(Seq(new org.apache.hadoop.fs.Path(
      FilePaths.of(spark, FilePaths.tables(spark, "t")).head))) === None)
  }

  test("no more than half of the pool is pinned, and the rest goes on working") {
    CacheControl.clear(spark)
    read("wide").collect()
    val half = CacheControl.localPool().get.capacityBytes() / 2
    call("pin('wide')")
    read("wide").collect()
    val row = call("pin('wide')")
    assert(row.getLong(1) > 5 && row.getLong(2) <= half)
    assert(row.getLong(3) > 0 && row.getLong(4) > 0)
    assert(row.getString(5) === "no more than half of a pool may be pinned")
    read("t").collect()
    assert(isWarm(read("t")), "there is room for others")
    call("unpin('wide')")
  }

  test("tables pinned by their property or by the reader") {
    table("mine", 2, "TBLPROPERTIES ('oap.cache' = 'pinned')")
    CacheControl.clear(spark)
    read("mine").collect()
    sweep()
    assert(isWarm(read("mine")))
    assertRefused("unpin('mine')", "OAP_PINNED_BY_PROPERTY")
    sql("ALTER TABLE mine UNSET TBLPROPERTIES ('oap.cache')")
    call("unpin('mine')")
    assert(pinned === Map.empty)
    sql(
      "CREATE TABLE kept USING parquet OPTIONS ('oap.cache' = 'pinned') AS SELECT id FROM range(9)")
    CacheControl.clear(spark)
    read("kept").collect()
    assertRefused("unpin('kept')", "OAP_PINNED_BY_PROPERTY")
    sql("ALTER TABLE kept SET TBLPROPERTIES ('oap.cache' = 'on')")
    call("unpin('kept')")
    assert(pinned === Map.empty)
    for (v1 <- Seq("parquet", "")) withConf("spark.sql.sources.useV1SourceList" -> v1) {
      CacheControl.clear(spark)
      val path = spark.table("other").inputFiles.head
      spark.read.option("oap.cache", "Pinned").parquet(path).collect()
      assert(pinned.values.toSeq === Seq(Set("c0", "c1")), v1)
      spark.read.option("oap.cache", "off").parquet(path).collect()
    }
    CacheControl.clear(spark)
  }

  test("resize keeps no more than it may") {
    CacheControl.clear(spark)
    call("pin('wide')")
    read("wide").collect()
    call(s"resize(${4L << 20})")
    val bytes = ExecutorCache.get().get.kept().bytes()
    assert(bytes > 0 && bytes <= (2L << 20))
    sweep()
    call("unpin('wide')")
    call(s"resize(${8L << 20})")
    read("t").collect()
    assert(isWarm(read("t")))
  }

  test("what cannot be pinned") {
    read("t").collect()
    for (procedure <- Seq("pin", "unpin")) {
      assertRefused(s"$procedure('nothing')", "TABLE_OR_VIEW_NOT_FOUND")
      assertRefused(s"$procedure('t', array('w'))", "UNRESOLVED_COLUMN.WITH_SUGGESTION")
      assertRefused(s"$procedure('t', array())", "OAP_INVALID_ARGUMENT")
      assertRefused(s"$procedure(CAST(NULL AS STRING))", "OAP_INVALID_ARGUMENT")
      assertRefused(s"$procedure()", "REQUIRED_PARAMETER_NOT_FOUND")
      withConf("spark.oap.cache.tables.exclude" -> "t") {
        assertRefused(s"$procedure('t')", "OAP_NOT_CACHED")
      }
    }
    sql("CREATE TABLE text (v STRING) USING csv")
    assertRefused("pin('text')", "OAP_UNSUPPORTED_TABLE")
  }

  test("what is pinned of a table, as a set of columns") {
    val ab = PinnedColumns.of(Seq("A", "b"))
    assert(ab.contains("a") && ab.contains("B") && !ab.contains("c"))
    assert(ab ++ PinnedColumns.of(Seq("c")) === PinnedColumns.of(Seq("a", "b", "c")))
    assert(ab ++ PinnedColumns.All === PinnedColumns.All)
    assert(ab.without(PinnedColumns.All, Set("a", "b", "c")) === None)
    assert(ab.without(PinnedColumns.of(Seq("a")), Set()) === Some(PinnedColumns.of(Seq("b"))))
    assert(ab.without(ab, Set()) === None)
    assert(PinnedColumns.All.without(ab, Set("a", "b", "c")) ===
      Some(PinnedColumns.of(Seq("c"))))
  }

  test("verify reads all, and drops what is damaged") {
    for (representation <- Seq("encoded", "vector")) {
      withConf("spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        read("t").collect()
        val before = CacheControl.localPool().get
        val row = call("verify()")
        assert(row.getLong(1) === 2 && row.getLong(2) > 0)
        assert(row.getLong(2) <= before.usedBytes())
        assert(row.getLong(3) === 0 && row.getLong(4) === 0 && row.isNullAt(5))
        DamagedPool.damage(_ => true)(chunk => chunk.put(0, (~chunk.get(0)).toByte))
        val again = call("verify()")
        assert(again.getLong(1) === 2 && again.getLong(3) === 1 && again.getLong(4) > 0)
        assert(CacheControl.localPool().get.chunks() === 1)
        assertRows(rows(read("t")), alone(rows(read("t"))), "after the damage")
        assert(call("verify()").getLong(3) === 0)
      }
    }
  }
}
