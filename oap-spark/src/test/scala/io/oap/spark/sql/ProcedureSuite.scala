package io.oap.spark.sql

import org.apache.spark.{SparkEnv, SparkThrowable}
import org.apache.spark.sql.{DataFrame, Row}

import io.oap.spark.{CacheControl, CacheSuite}

/** The procedures of `oap.system`: what they do, and what they say when they cannot. */
class ProcedureSuite extends CacheSuite {
  private val MiB = 1L << 20

  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "64m")

  private def sql(text: String): DataFrame = spark.sql(text)

  private def call(text: String): Row = {
    val rows = sql(s"CALL oap.system.$text").collect()
    assert(rows.length === 1)
    assert(rows.head.getString(0) === "driver")
    rows.head
  }

  private def chunks: Long = CacheControl.localPool().get.chunks()
  private def capacity: Long = CacheControl.localPool().get.capacityBytes()

  /** Calls fail with this condition, and leave the cache as it was. */
  private def assertRefused(text: String, condition: String, words: String*): Unit = {
    val before = (chunks, capacity)
    val e = intercept[Exception with SparkThrowable](sql(s"CALL oap.system.$text").collect())
    assert(e.getCondition === condition, text)
    words.foreach(word => assert(e.getMessage.contains(word), word))
    assert((chunks, capacity) === before)
  }

  /** Reads until all comes from the pool. */
  private def warm(read: => DataFrame): Unit = {
    read.collect()
    val (_, counters) = counting(read.collect())
    assert(counters.bytesFromFile === 0 && counters.chunksHit > 0)
  }

  private def isCold(read: => DataFrame): Boolean =
    counting(read.collect())._2.chunksMissed > 0

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("a", "b")) {
      sql(s"CREATE TABLE $name (id BIGINT, v STRING) USING parquet")
      sql(s"INSERT INTO $name SELECT id, concat('v', id) FROM range(0, 1000, 1, 1)")
    }
    sql("CREATE TABLE parts (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    sql(s"ALTER TABLE parts ADD PARTITION (p = 7) LOCATION '${path("elsewhere")}'")
    sql("INSERT INTO parts SELECT id, 7 FROM range(0, 10, 1, 1)")
    sql("INSERT INTO parts SELECT id, 8 FROM range(0, 10, 1, 1)")
    sql("CREATE VIEW both AS SELECT a.id FROM a JOIN parts USING (id)")
    spark.range(0, 100, 1, 1).write.parquet(path("lake/x"))
    spark.range(0, 100, 1, 1).write.parquet(path("lake/y"))
  }

  private def x: DataFrame = spark.read.parquet(path("lake/x"))
  private def y: DataFrame = spark.read.parquet(path("lake/y"))

  test("procedures are listed and described") {
    assert(sql("SHOW PROCEDURES IN oap.system").collect().map(_.getAs[String]("procedure_name"))
      .toSeq === Seq("clear", "resize", "warm", "pin", "unpin", "verify"))
    val described = sql("DESCRIBE PROCEDURE oap.system.clear").collect().mkString("\n")
    assert(described.contains("table") && described.contains("path"))
  }

  test("clear drops everything") {
    CacheControl.clear(spark)
    warm(spark.table("a"))
    val held = CacheControl.localPool().get
    val row = call("clear()")
    assert(row.getLong(1) === 2)
    assert(row.getLong(2) > 0 && row.getLong(2) <= held.usedBytes())
    assert(row.isNullAt(3))
    assert(chunks === 0 && isCold(spark.table("a")))
  }

  test("clear drops one table and leaves the others") {
    for (text <- Seq("clear('a')", "clear(table => 'default.a')", "clear(`table` => 'A')")) {
      warm(spark.table("a"))
      warm(spark.table("b"))
      assert(call(text).getLong(1) === 2, text)
      assert(isCold(spark.table("a")))
      assert(!isCold(spark.table("b")))
    }
  }

  test("clear finds partitions that lie elsewhere, and tables behind views") {
    warm(spark.table("parts"))
    warm(spark.table("b"))
    assert(call("clear('parts')").getLong(1) === 2)
    assert(isCold(spark.table("parts")))
    warm(spark.table("a"))
    warm(spark.table("parts"))
    assert(call("clear('both')").getLong(1) === 4)
    assert(!isCold(spark.table("b")))
  }

  for (v1 <- Seq("parquet", "")) {
    test(s"clear by temporary view, with useV1SourceList='$v1'") {
      withConf("spark.sql.sources.useV1SourceList" -> v1) {
        warm(x)
        warm(y)
        x.createOrReplaceTempView("mine")
        assert(call("clear('mine')").getLong(1) === 1)
        assert(isCold(x) && !isCold(y))
      }
    }
  }

  test("clear by path of a folder, of one above, and of a file") {
    warm(x)
    warm(y)
    assert(call(s"clear(path => '${path("lake/x")}/')").getLong(1) === 1)
    assert(isCold(x) && !isCold(y))
    assert(call(s"clear(path => 'file:${path("lake")}')").getLong(1) === 2)
    assert(isCold(x) && isCold(y))
    assert(call(s"clear(path => '${x.inputFiles.head}')").getLong(1) === 1)
    assert(isCold(x) && !isCold(y))
  }

  test("clear of what cannot be") {
    warm(spark.table("a"))
    assertRefused("clear('nothing')", "TABLE_OR_VIEW_NOT_FOUND", "nothing")
    assertRefused("clear(path => '/not/there')", "PATH_NOT_FOUND", "/not/there")
    assertRefused("clear(path => '')", "PATH_NOT_FOUND")
    for (path <- Seq("nofs://lake/x", "file:lake", "a:b:c"))
      assertRefused(s"clear(path => '$path')", "OAP_INVALID_ARGUMENT", "path", path)
    assertRefused("clear('a', '/tmp')", "OAP_INVALID_ARGUMENT", "not both")
    sql("CREATE TABLE text (v STRING) USING csv")
    assertRefused("clear('text')", "OAP_UNSUPPORTED_TABLE", "text")
    spark.range(1).createOrReplaceTempView("noFiles")
    assertRefused("clear('noFiles')", "OAP_UNSUPPORTED_TABLE", "noFiles")
    assertRefused("clear(what => 'a')", "UNRECOGNIZED_PARAMETER_NAME", "what")
  }

  test("resize changes the capacity, and the content stays as far as it fits") {
    warm(spark.table("a"))
    for (size <- Seq(128 * MiB, 32 * MiB, 64 * MiB)) {
      val row = call(s"resize($size)")
      assert(row.getLong(1) === size && row.isNullAt(2))
      assert(capacity === size)
      assert(!isCold(spark.table("a")))
    }
  }

  test("resize to more than the process may use is done, and warned about") {
    val conf = SparkEnv.get.conf
    conf.set("spark.executor.pyspark.memory", "1000g")
    try {
      val row = call(s"resize(${96 * MiB})")
      assert(row.getLong(1) === 96 * MiB && row.isNullAt(2))
      assert(row.getString(3).startsWith("The memory of this process is too small"))
      assert(row.getString(3).contains("column chunk pool 96m"))
    } finally conf.remove("spark.executor.pyspark.memory")
    assert(call(s"resize(${64 * MiB})").isNullAt(3))
  }

  test("resize to what cannot be") {
    warm(spark.table("a"))
    assertRefused(
      "resize(-1)",
      "OAP_INVALID_ARGUMENT",
      "bytes",
      s"at least $MiB, a number of bytes")
    assertRefused("resize(0)", "OAP_INVALID_ARGUMENT")
    assertRefused(s"resize(${MiB - 1})", "OAP_INVALID_ARGUMENT")
    assertRefused("resize(NULL)", "OAP_INVALID_ARGUMENT")
    assertRefused("resize()", "REQUIRED_PARAMETER_NOT_FOUND")
    assertRefused("resize('lots')", "CAST_INVALID_INPUT")
    assertRefused(s"resize(${64 * MiB * 9})", "OAP_REFUSED", "eight times")
  }

  test("procedures that there are not") {
    assertRefused("grow(1)", "ROUTINE_NOT_FOUND", "grow")
  }
}
