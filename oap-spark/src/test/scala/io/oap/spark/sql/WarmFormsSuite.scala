package io.oap.spark.sql

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row

import io.oap.spark.{CacheControl, WatchedFileSystem}

/** `oap.system.warm` and `CACHE SELECT` of all kinds of tables: what queries find after them. */
class WarmFormsSuite extends TableForms {

  /** Runs a statement with an empty pool, and asserts that it loads what is there then, as no query does. */
  private def warmed(text: String): Seq[Row] = {
    CacheControl.clear(spark)
    val (rows, counters) = counting(sql(text).collect().toSeq)
    assert(counters.chunksAsked === 0 && counters.bytesFromFile === 0, "it counts as no query")
    assert(total(rows, "loaded_chunks") === CacheControl.localPool().get.chunks())
    assert(total(rows, "present_chunks") === 0 && total(rows, "refused_chunks") === 0)
    assert(rows.forall(row => row.getString(0) == "driver" && row.isNullAt(7)))
    rows
  }

  private def assertRefused(text: String, condition: String, words: String*): Unit = {
    val e = intercept[Exception with SparkThrowable](sql(text).collect())
    assert(e.getCondition === condition, e)
    words.foreach(word => assert(e.getMessage.contains(word), e.getMessage))
  }

  /** Iceberg reads small files whole, so that all of their columns are held. */
  private def assertHeld(form: TableForm, columns: Set[String]): Unit =
    if (form.name == "Iceberg") assert(columns.subsetOf(heldColumns))
    else assert(heldColumns === columns)

  for (form <- forms) {
    test(s"${form.name}: all of a table, once") {
      val t = made(form, "whole")
      val loaded = total(warmed(s"CALL oap.system.warm('$t')"), "loaded_chunks")
      assertReadsNothing(spark.table(t))
      val again = sql(s"CACHE SELECT * FROM $t").collect().toSeq
      assert(total(again, "loaded_chunks") === 0)
      assert(total(again, "present_chunks") === loaded)
    }

    test(s"${form.name}: what queries have made vector chunks of is there") {
      val t = made(form, "vectors")
      for (_ <- 1 to 3) sql(s"SELECT id, v FROM $t").collect()
      val again = sql(s"CACHE SELECT id, v FROM $t").collect().toSeq
      assert(total(again, "loaded_chunks") === 0)
      assert(total(again, "present_chunks") > 0)
    }

    test(s"${form.name}: columns, partitions and what a condition leaves") {
      val t = made(form, "part")
      warmed(s"CALL oap.system.warm(table => '$t', columns => array('v', 's.x'))")
      assertHeld(form, Set("v", "s"))
      assertReadsNothing(sql(s"SELECT v, s.x FROM $t"))
      val of = total(warmed(s"CACHE SELECT v FROM $t"), "loaded_chunks")
      assert(total(warmed(s"CACHE SELECT v FROM $t WHERE p = 1"), "loaded_chunks") === of / 2)
      assertReadsNothing(sql(s"SELECT v FROM $t WHERE p = 1"))
      warmed(s"CALL oap.system.warm('$t', array('v'), 'id > 20')")
      assertReadsNothing(sql(s"SELECT v FROM $t WHERE id > 20"))
      assertHeld(form, Set("id", "v"))
      assert(sql(s"CACHE SELECT v FROM $t WHERE p = 9").collect().isEmpty)
      sql(s"CREATE OR REPLACE TEMPORARY VIEW some AS SELECT id FROM $t WHERE p = 0")
      warmed("CALL oap.system.warm('some')")
      assertReadsNothing(spark.table("some"))
    }

    test(s"${form.name}: what cannot be") {
      val t = made(form, "refused")
      val kind = form.name.split(' ').head.toLowerCase
      cleared(spark.table(t).collect())
      val others = Set("parquet", "orc", "delta", "iceberg") - kind
      withConf("spark.oap.cache.formats" -> others.mkString(",")) {
        val why = s"spark.oap.cache.formats leaves $kind out"
        assertRefused(s"CALL oap.system.warm('$t')", "OAP_NOT_CACHED", t, why)
        assertRefused(s"CALL oap.system.pin('$t')", "OAP_NOT_CACHED", t, why)
      }
      withConf("spark.oap.cache.tables.exclude" -> t) {
        assertRefused(s"CACHE SELECT id FROM $t", "OAP_NOT_CACHED", t, "tables.exclude")
      }
      assertRefused(s"CALL oap.system.warm('$t', array('w'))", "UNRESOLVED_COLUMN.WITH_SUGGESTION")
      assertRefused(
        s"CALL oap.system.warm('$t', filter => 'id = (SELECT 1)')",
        "OAP_INVALID_ARGUMENT",
        "subqueries")
      assert(CacheControl.localPool().get.chunks() > 0)
    }

    test(s"${form.name}: a file that the user may not read") {
      val t = made(form, "secret")
      CacheControl.clear(spark)
      val secret = new Path(filesOf(t).max).getName
      def denied(file: Path): Unit =
        if (file.getName == secret) throw new AccessControlException(s"user=eve, inode=$file")
      WatchedFileSystem.beforeOpens(denied) {
        assertRefused(s"CACHE SELECT v FROM $t", "OAP_NO_PERMISSION", "user=eve", "Grant")
      }
      // Iceberg's files are not opened beforehand.
      if (form.name != "Iceberg") assert(CacheControl.localPool().get.chunks() === 0)
    }

    test(s"${form.name}: an empty table") {
      val t = form.table("nothing_" + form.name.replace(' ', '_'))
      sql(s"CREATE TABLE $t (id BIGINT, p INT) ${form.made}")
      assert(sql(s"CALL oap.system.warm('$t')").collect().isEmpty)
      sql(s"CALL oap.system.pin('$t')").collect()
      sql(s"CALL oap.system.unpin('$t')").collect()
    }
  }

  test("delete files and deletion vectors are loaded, as far as they are for the cache") {
    for ((kind, more) <- Seq(
        "Delta" -> "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "Iceberg" -> "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")) {
      val t = made(form(kind), "deletes", more)
      sql(s"DELETE FROM $t WHERE id % 3 = 1")
      warmed(s"CALL oap.system.warm('$t')")
      assertReadsNothing(spark.table(t))
    }
    assert(heldColumns.contains("file_path"), "of Iceberg's position deletes")
  }

  test("columns of large files of Iceberg") {
    sql("CREATE TABLE ice.db.large (id BIGINT, h BIGINT) USING iceberg")
    sql("INSERT INTO ice.db.large SELECT id, xxhash64(id) FROM range(0, 400000, 1, 1)")
    warmed("CACHE SELECT h FROM ice.db.large")
    assert(heldColumns === Set("h"))
    assertReadsNothing(sql("SELECT h FROM ice.db.large"))
  }

  test("paths in the place of names") {
    for (kind <- Seq("Delta", "ORC")) {
      val t = made(form(kind), "at")
      val at = filesOf(t).head.split("/p=").head
      warmed(s"CALL oap.system.warm('${kind.toLowerCase}.`$at`')")
      // Spark looks into a file of ORC for its schema, on the driver.
      val read = sql(s"SELECT * FROM ${kind.toLowerCase}.`$at`")
      val (_, counters) = counting(read.collect())
      assert(counters.chunksHit > 0 && counters.bytesFromFile === 0)
      assert(total(
        sql(s"CALL oap.system.clear(table => '$kind.`$at`')").collect().toSeq,
        "chunks") > 0)
      assert(CacheControl.localPool().get.chunks() === 0)
    }
  }

  test("tables that are none of ours") {
    val iceberg = made(form("Iceberg"), "meta")
    for (procedure <- Seq("warm", "pin", "unpin", "clear"))
      assertRefused(
        s"CALL oap.system.$procedure('$iceberg.files')",
        "OAP_UNSUPPORTED_TABLE",
        s"$iceberg.files",
        "metadata tables")
    sql("CREATE TABLE db.words (v STRING) USING csv")
    assertRefused("CALL oap.system.warm('db.words')", "OAP_UNSUPPORTED_TABLE", "Iceberg or Delta")
    sql("CREATE TABLE ice.db.orc (id BIGINT) USING iceberg " +
      "TBLPROPERTIES ('write.format.default' = 'orc')")
    sql("INSERT INTO ice.db.orc VALUES (1)")
    assertRefused("CALL oap.system.warm('ice.db.orc')", "OAP_NOT_CACHED")
  }
}
