package io.oap.spark.delta

import java.io.IOException

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.oap.spark.WatchedFileSystem

/** Tables of Delta, as they are written and left. */
class DeltaReadSuite extends DeltaScanSuite {

  private def table(name: String, more: String = ""): String = {
    val where = s"delta.`${watched(name)}`"
    sql(s"CREATE TABLE $where (id BIGINT, k INT, s STRING, n STRUCT<a: INT, b: STRING>) " +
      s"USING delta $more")
    sql(s"INSERT INTO $where SELECT id, CAST(id % 5 AS INT), concat('s', id % 97), " +
      "named_struct('a', CAST(id AS INT), 'b', concat('b', id)) FROM range(0, 4000, 1, 2)")
    where
  }

  for ((name, more) <- Seq("plain" -> "", "parts" -> "PARTITIONED BY (k)")) {
    test(s"a table, $name") {
      val t = table(name, more)
      assertServedByFiles(sql(s"SELECT * FROM $t"))
      assertServedByFiles(sql(s"SELECT s, n.b FROM $t WHERE k = 3 AND id > 100"))
      assertServedByFiles(sql(s"SELECT a.s FROM $t a JOIN $t b ON a.id = b.id + 1 WHERE b.k = 2"))
      assertServedByFiles(sql(s"SELECT max(id) FROM $t WHERE k = (SELECT max(k) FROM $t)"))
      assertServedByFiles(sql(s"SELECT _metadata.file_name, _metadata.file_size, id FROM $t"))
    }
  }

  test("rows, where batches are not read") {
    val t = table("rows")
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      assertServedByFiles(sql(s"SELECT * FROM $t WHERE id % 3 = 0"))
    }
    withConf("spark.sql.codegen.wholeStage" -> "false") {
      assertServedByFiles(sql(s"SELECT * FROM $t WHERE id % 3 = 0"))
    }
    withConf("spark.sql.adaptive.enabled" -> "false") {
      assertServedByFiles(sql(s"SELECT k, max(s) FROM $t GROUP BY k"))
    }
  }

  test("one scan of two that are equal") {
    val t = table("reused")
    for (isAdaptive <- Seq("true", "false"))
      withConf(
        "spark.sql.adaptive.enabled" -> isAdaptive,
        "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        def query = sql(
          s"WITH g AS (SELECT k, count(*) c FROM $t GROUP BY k) " +
            "SELECT x.k, x.c, y.c FROM g x JOIN g y ON x.k = y.k WHERE x.c >= y.c")
        def reused = collectWithSubqueries(executed(query)) { case r: ReusedExchangeExec => r }.size
        assert(reused === alone(reused))
        assert(reused > 0)
        assertServedByFiles(query)
      }
  }

  test("deletion vectors") {
    val t = table("vectors", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    def all = sql(s"SELECT * FROM $t")
    assertServedByFiles(all)
    sql(s"DELETE FROM $t WHERE id % 7 = 0")
    // The chunks are those of before; the rows must not be.
    val ((left, counters), bytes) = bytesOfData(counting(rows(all)))
    assert(left.size === (0 until 4000).count(_ % 7 != 0))
    assert(counters.chunksHit > 0)
    assert(bytes === 0)
    assertServedByFiles(all)
    assertServedByFiles(sql(s"SELECT id, _metadata.row_index FROM $t WHERE k = 1"))
    withConf("spark.databricks.delta.deletionVectors.useMetadataRowIndex" -> "false") {
      assertServedByFiles(sql(s"SELECT s FROM $t WHERE k = 1"))
    }
    sql(s"UPDATE $t SET s = 'new' WHERE id % 11 = 0")
    assertServedByFiles(all)
  }

  test("deletion vectors are read once, and not at all where that fails") {
    val t = table("once", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    sql(s"DELETE FROM $t WHERE id % 7 = 0")
    def query = sql(s"SELECT id, s FROM $t WHERE k > 1")
    def isVector(path: String) = path.contains("deletion_vector")
    def failed = WatchedFileSystem.beforeOpens { path =>
      if (isVector(path.getName)) throw new IOException("an unreadable vector")
    }(outcome(query))
    val expected = alone(failed)
    assert(expected.swap.exists(_.contains(classOf[IOException].getName)))
    assert(failed === expected)
    assertServedByFiles(query)
    val before = WatchedFileSystem.bytesOf(isVector)
    assert(before > 0)
    rows(query)
    assert(WatchedFileSystem.bytesOf(isVector) === before)
    sql(s"DELETE FROM $t WHERE id % 7 = 1")
    assertServedByFiles(query)
    assertServedByFiles(sql(s"SELECT id, s FROM $t VERSION AS OF 2"))
  }

  for (mode <- Seq("name", "id")) test(s"column mapping by $mode") {
    val t = table(s"mapped-$mode", s"TBLPROPERTIES ('delta.columnMapping.mode' = '$mode')")
    assertServedByFiles(sql(s"SELECT * FROM $t"))
    sql(s"ALTER TABLE $t RENAME COLUMN s TO `a b`")
    assertServedByFiles(sql(s"SELECT id, `a b` FROM $t WHERE `a b` > 's5'"))
    sql(s"ALTER TABLE $t DROP COLUMN n")
    sql(s"ALTER TABLE $t ADD COLUMN n INT")
    sql(s"INSERT INTO $t VALUES (-1, 0, 'x', 7)")
    assertServedByFiles(sql(s"SELECT * FROM $t"))
    assert(sql(s"SELECT n FROM $t WHERE id = -1").collect() === Array(Row(7)))
  }

  test("row tracking") {
    val t = table("tracked", "TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    def ids = sql(s"SELECT id, _metadata.row_id, _metadata.row_commit_version FROM $t")
    assertServedByFiles(ids)
    sql(s"UPDATE $t SET s = 'u' WHERE id < 50")
    sql(s"OPTIMIZE $t")
    assertServedByFiles(ids)
  }

  test("changes") {
    val t = table("changes", "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    sql(s"UPDATE $t SET s = 'u' WHERE id % 10 = 0")
    sql(s"DELETE FROM $t WHERE id % 10 = 1")
    def changes = sql(s"SELECT id, s, _change_type, _commit_version FROM " +
      s"table_changes_by_path('${watched("changes")}', 0)")
    assertWarm(changes)
    assert(changes.count() > 4000)
  }

  test("what EXPLAIN says") {
    val t = table("explained")
    for (isAdaptive <- Seq("true", "false"))
      withConf("spark.sql.adaptive.enabled" -> isAdaptive) {
        def plan(query: String) =
          sql(s"EXPLAIN $query").collect().head.getString(0)
        for (query <- Seq(s"SELECT * FROM $t", s"SELECT k, count(s) FROM $t GROUP BY k")) {
          assert(plan(query).contains("Format: Parquet, column cache"), plan(query))
          assert(!alone(plan(query)).contains("column cache"))
        }
      }
  }

  test("files are not asked for their versions in each query") {
    val t = table("asked")
    def query = sql(s"SELECT k, s FROM $t WHERE id > 7")
    assert(statusesOfData(rows(query)) > 0)
    assert(statusesOfData(rows(query)) === 0)
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      rows(query) // It may have to load chunks in another form.
      assert(statusesOfData(rows(query)) === 0)
    }
    sql(s"INSERT INTO $t VALUES (-1, 0, 'x', NULL), (10000, 0, 'x', NULL)")
    assert(statusesOfData(assertRows(rows(query), alone(rows(query)), "one more file")) > 0)
    assert(statusesOfData(rows(query)) === 0)
    for (passedOver <- Seq("Missing", "Corrupt"))
      withConf(s"spark.sql.files.ignore${passedOver}Files" -> "true")(
        assert(statusesOfData(rows(query)) > 0, passedOver))
  }

  test("who does not want it") {
    val t = table("unwanted")
    def read = sql(s"SELECT * FROM $t")
    def isCached = cachedFileScans(executed(read)).nonEmpty
    assert(isCached)
    assert(!alone(isCached))
    withConf("spark.oap.cache.formats" -> "parquet")(assert(!isCached))
    withConf("spark.oap.cache.tables.exclude" -> "*/unwanted")(assert(!isCached))
    withConf("spark.oap.cache.tables.include" -> "other")(assert(!isCached))
    assert(cachedFileScans(executed(sql(s"SELECT /*+ OAP_CACHE(off) */ * FROM $t"))).isEmpty)
    sql(s"CREATE TABLE named USING delta LOCATION '${watched("unwanted")}'")
    def named = cachedFileScans(executed(spark.table("named"))).nonEmpty
    assert(named)
    withConf("spark.oap.cache.tables.exclude" -> "named")(assert(!named))
    sql("ALTER TABLE named SET TBLPROPERTIES ('oap.cache' = 'off')")
    assert(!named)
    withConf("spark.oap.cache.tables.include" -> "named")(assert(named))
  }
}
