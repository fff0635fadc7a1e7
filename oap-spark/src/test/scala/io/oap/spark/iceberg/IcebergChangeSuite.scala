package io.oap.spark.iceberg

import io.oap.spark.{CacheControl, ExtendedTest, LogLines}

/** Tables that are changed, with the cache on, are as they are without it. */
@ExtendedTest
class IcebergChangeSuite extends IcebergSuite {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.cache.tables.quotas" -> "ice.db.limited=90%")

  private def create(table: String, version: Int, mode: String): Unit = {
    sql(
      s"""CREATE TABLE ice.db.$table (id BIGINT, v INT, s STRING, p INT) USING iceberg
         |PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '$version',
         |'write.delete.mode' = '$mode', 'write.update.mode' = '$mode',
         |'write.merge.mode' = '$mode', 'write.delete.granularity' = 'partition')""".stripMargin)
    sql(
      s"""INSERT INTO ice.db.$table
         |SELECT id, CAST(id % 97 AS INT), concat('s', id % 50), CAST(id % 2 AS INT)
         |FROM range(0, 2000, 1, 1)""".stripMargin)
  }

  private def changes(table: String): Seq[String] = Seq(
    s"DELETE FROM ice.db.$table WHERE id % 7 = 3",
    s"UPDATE ice.db.$table SET v = v + 1000, s = NULL WHERE id % 11 = 5",
    s"""MERGE INTO ice.db.$table t
       |USING (SELECT id * 3 AS id, 'merged' AS s FROM range(900)) u ON t.id = u.id
       |WHEN MATCHED AND t.v % 2 = 0 THEN DELETE
       |WHEN MATCHED THEN UPDATE SET s = u.s
       |WHEN NOT MATCHED THEN INSERT (id, v, s, p) VALUES (u.id, -1, u.s, 1)""".stripMargin,
    s"INSERT INTO ice.db.$table SELECT id, 1, 'late', 0 FROM range(5000, 5200)",
    s"DELETE FROM ice.db.$table WHERE p = 0 AND id < 300",
    s"UPDATE ice.db.$table SET v = (SELECT max(v) FROM ice.db.$table) WHERE id = 5100"
  )

  for ((version, mode) <- Seq(2 -> "merge-on-read", 3 -> "merge-on-read", 2 -> "copy-on-write"))
    test(s"deletes, updates and merges, $mode, format version $version") {
      val (here, there) = (s"here_${version}_${mode.take(4)}", s"there_${version}_${mode.take(4)}")
      create(here, version, mode)
      alone(create(there, version, mode))
      changes(here).zip(changes(there)).foreach { case (change, sameAlone) =>
        // Warm, so that the change itself reads from the pool.
        rows(sql(s"SELECT * FROM ice.db.$here"))
        sql(change)
        alone(sql(sameAlone))
        assertRows(
          rows(sql(s"SELECT * FROM ice.db.$here")),
          alone(rows(sql(s"SELECT * FROM ice.db.$there"))),
          change)
      }
      assertServed(sql(s"SELECT * FROM ice.db.$here"))
      assertServed(sql(s"SELECT p, count(s), sum(v) FROM ice.db.$here WHERE id > 100 GROUP BY p"))
      withConf("spark.sql.iceberg.vectorization.enabled" -> "false") {
        assertServed(sql(s"SELECT * FROM ice.db.$here WHERE v > 5"))
      }
    }

  test("delete files in Parquet are read from the pool, deletion vectors as Iceberg does") {
    for (version <- Seq(2, 3)) {
      create(s"deleted$version", version, "merge-on-read")
      sql(s"DELETE FROM ice.db.deleted$version WHERE id % 5 = 1")
    }
    assertWarm(sql("SELECT * FROM ice.db.deleted2"))
    assertServed(sql("SELECT * FROM ice.db.deleted3"))
    val read = filesRead(rows(sql("SELECT * FROM ice.db.deleted3")))
    assert(read.nonEmpty && read.forall(_.getName.endsWith(".puffin")))
  }

  test("equality deletes are read from the pool") {
    sql("CREATE TABLE ice.db.equal (id BIGINT, s STRING) USING iceberg")
    sql("INSERT INTO ice.db.equal SELECT id, string(id) FROM range(1000)")
    EqualityDeletes.commit(spark, "ice.db.equal", "id", 100L until 200L)
    assert(rows(sql("SELECT s FROM ice.db.equal")).size === 900)
    assertWarm(sql("SELECT s FROM ice.db.equal"))
    assertWarm(sql("SELECT * FROM ice.db.equal WHERE id BETWEEN 50 AND 250"))
  }

  test("what a copy-on-write change reads is served, but does not enter the pool") {
    create("rewritten", 2, "copy-on-write")
    CacheControl.clear(spark)
    // Spark would find the files to be rewritten by a query, which has its chunks cached.
    val (_, cold) = withConf(
      "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled" -> "false")(
      counting(sql("DELETE FROM ice.db.rewritten WHERE id = 7")))
    assert(cold.chunksBypassed > 0 && cold.chunksMissed === 0)
    rows(sql("SELECT * FROM ice.db.rewritten"))
    val (_, warm) = counting(sql("DELETE FROM ice.db.rewritten WHERE id = 9"))
    assert(warm.chunksHit > 0 && warm.chunksBypassed === 0)
    assertWarm(sql("SELECT * FROM ice.db.rewritten"))
  }

  test("changes obey what a table says, and are served where a quota names the table") {
    create("uncached", 2, "merge-on-read")
    sql("ALTER TABLE ice.db.uncached SET TBLPROPERTIES ('oap.cache' = 'off')")
    for (change <- changes("uncached").take(3))
      assert(counting(sql(change))._2.chunksAsked === 0, change)
    create("limited", 2, "copy-on-write")
    rows(sql("SELECT * FROM ice.db.limited"))
    val lines = LogLines.ofOurs(
      withConf("spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled" -> "false") {
        assert(counting(sql("DELETE FROM ice.db.limited WHERE id = 9"))._2.chunksHit > 0)
      })
    assert(!lines.exists(_.contains("around the column cache")), lines)
  }

  test("compaction and expired snapshots") {
    create("compacted", 2, "merge-on-read")
    for (part <- 0 until 4) {
      sql(s"INSERT INTO ice.db.compacted SELECT id, 3, 'm', 1 FROM range(${part * 50}, 3000, 100)")
      sql(s"DELETE FROM ice.db.compacted WHERE id % 13 = $part")
    }
    val expected = rows(sql("SELECT * FROM ice.db.compacted"))
    val (_, compaction) = counting(
      sql("CALL ice.system.rewrite_data_files(table => 'ice.db.compacted', " +
        "options => map('rewrite-all', 'true'))").collect())
    assert(compaction.chunksAsked === 0, "what a compaction reads is gone when it ends")
    assertRows(rows(sql("SELECT * FROM ice.db.compacted")), expected, "after the compaction")
    sql("CALL ice.system.expire_snapshots(table => 'ice.db.compacted', " +
      "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)").collect()
    assertRows(rows(sql("SELECT * FROM ice.db.compacted")), expected, "after the expiry")
    assertWarm(sql("SELECT * FROM ice.db.compacted"))
  }
}
