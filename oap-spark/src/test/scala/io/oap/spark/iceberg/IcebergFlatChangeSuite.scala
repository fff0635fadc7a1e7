package io.oap.spark.iceberg

import io.oap.common.ChunkKey
import io.oap.spark.{CacheControl, DamagedPool}

/** Tables that change while our own readers read them, and chunks that get damaged. */
class IcebergFlatChangeSuite extends IcebergSuite with FlatIcebergTables {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.files.maxPartitionBytes" -> "1g")

  private def create(table: String, more: String): Unit = {
    sql(s"CREATE TABLE ice.db.$table (id BIGINT, v INT, s STRING) USING iceberg $more")
    for (part <- 0 until 3) insert(table, part * 4000, part * 4000 + 4000)
  }

  private def insert(table: String, from: Int, to: Int): Unit = sql(
    s"""INSERT INTO ice.db.$table SELECT id, IF(id % 13 = 0, NULL, CAST(id % 97 AS INT)),
       |  concat('s', id % 50) FROM range($from, $to, 1, 1)""".stripMargin): Unit

  for ((version, mode) <- Seq(2 -> "merge-on-read", 3 -> "merge-on-read", 2 -> "copy-on-write"))
    test(s"deletes of some files, updates and merges, $mode, format version $version") {
      val table = s"changed_${version}_${mode.take(4)}"
      create(
        table,
        s"TBLPROPERTIES ('format-version' = '$version', 'write.delete.mode' = '$mode', " +
          s"'write.update.mode' = '$mode', 'write.merge.mode' = '$mode')"
      )
      assertFlat(sql(s"SELECT * FROM ice.db.$table"))
      def check(): Unit =
        assertFlat(sql(s"SELECT s, v FROM ice.db.$table WHERE id > 100 AND v < 60"))
      sql(s"DELETE FROM ice.db.$table WHERE id BETWEEN 4500 AND 5000 AND id % 2 = 1")
      check()
      sql(s"UPDATE ice.db.$table SET v = 33, s = NULL WHERE id % 400 = 3 AND id < 4000")
      check()
      sql(s"""MERGE INTO ice.db.$table t
             |USING (SELECT id * 70 AS id, 'merged' AS s FROM range(100)) u ON t.id = u.id
             |WHEN MATCHED AND t.v % 2 = 0 THEN DELETE
             |WHEN MATCHED THEN UPDATE SET s = u.s
             |WHEN NOT MATCHED THEN INSERT (id, v, s) VALUES (u.id, -1, u.s)""".stripMargin)
      insert(table, 20000, 24000)
      check()
      val first = sql(s"SELECT snapshot_id FROM ice.db.$table.snapshots ORDER BY committed_at")
        .head().getLong(0)
      assertFlat(sql(s"SELECT * FROM ice.db.$table VERSION AS OF $first WHERE v > 50"))
    }

  test("a damaged vector chunk") {
    create("damaged", "")
    withConf("spark.oap.cache.representation" -> "vector") {
      def query = sql("SELECT id, s FROM ice.db.damaged WHERE id >= 0")
      val expected = alone(rows(query))
      CacheControl.clear(spark)
      for (_ <- 1 to 2) assertRows(rows(query), expected, "before")
      // The dictionary has 50 entries, so that the codes of rows can say too much.
      def isMeant(key: ChunkKey) = key.column == 2 && key.representation != ChunkKey.ENCODED
      DamagedPool.damage(isMeant(_)) { chunk =>
        for (i <- chunk.remaining / 2 until chunk.remaining) chunk.put(i, 0xff.toByte)
      }
      val before = held
      // Damage that is found out late may fail a task, but gives no wrong row.
      val (_, counters) = counting(outcome(query).foreach(assertRows(_, expected, "damaged")))
      if (held != before) {
        assert(counters.bytesFromFile > 0)
        assertRows(rows(query), expected, "afterwards")
      }
    }
  }

  test("a damaged encoded chunk") {
    create("undecodable", "TBLPROPERTIES ('write.parquet.compression-codec' = 'uncompressed')")
    withConf("spark.oap.cache.representation" -> "encoded") {
      def query = sql("SELECT id, v FROM ice.db.undecodable")
      val expected = alone(rows(query))
      CacheControl.clear(spark)
      for (_ <- 1 to 2) rows(query)
      DamagedPool.damage(_.column == 1) { chunk =>
        for (i <- 0 until 64) chunk.put(i, 0xff.toByte)
      }
      val (actual, counters) = counting(rows(query))
      assertRows(actual, expected, "damaged")
      assert(counters.bytesFromFile > 0)
      assertRows(rows(query), expected, "afterwards")
    }
  }

  test("queries that stop early leave nothing pinned") {
    create("stopped", "")
    for (_ <- 1 to 3) {
      assert(rows(sql("SELECT * FROM ice.db.stopped WHERE id > 7 LIMIT 3")).size === 3)
      val iterator = sql("SELECT id, s FROM ice.db.stopped").toLocalIterator()
      iterator.next()
    }
  }
}
