package io.oap.spark.sql

import org.apache.spark.SparkThrowable

import io.oap.spark.CacheControl

/** `pin`, `unpin` and `clear` by the names of tables of all kinds. */
class PinFormsSuite extends TableForms {

  private def call(text: String): Long =
    total(sql(s"CALL oap.system.$text").collect().toSeq, "chunks")

  private def chunks: Long = CacheControl.localPool().get.chunks()

  for (form <- forms) {
    test(s"${form.name}: pin and unpin, whole and by column") {
      val t = made(form, "pins")
      cleared(spark.table(t).collect())
      assert(call(s"pin('$t')") === chunks)
      assert(pinnedColumns === heldColumns)
      assert(call(s"unpin('$t')") === chunks)
      assert(pinnedColumns === Set())
      call(s"pin('$t', array('V'))")
      assert(pinnedColumns === Set("v"))
      cleared(sql(s"CACHE SELECT * FROM $t").collect())
      assert(pinnedColumns === Set("v"), "what came later")
      sql(s"INSERT INTO $t SELECT id, 'new', NULL, 0 FROM range(10)")
      spark.table(t).collect()
      assert(pinnedColumns === Set("v"))
      call(s"unpin('$t', array('v'))")
      assert(pinnedColumns === Set())
    }

    test(s"${form.name}: a table that says that it is pinned") {
      val t = made(form, "property", "TBLPROPERTIES ('oap.cache' = 'pinned')")
      cleared(spark.table(t).collect())
      assert(pinnedColumns === heldColumns && heldColumns.nonEmpty)
      val e = intercept[Exception with SparkThrowable](call(s"unpin('$t')"))
      assert(e.getCondition === "OAP_PINNED_BY_PROPERTY")
      sql(s"ALTER TABLE $t UNSET TBLPROPERTIES ('oap.cache')")
      call(s"unpin('$t')")
      assert(pinnedColumns === Set())
    }

    test(s"${form.name}: a table's quota") {
      val t = made(form, "quota", "TBLPROPERTIES ('oap.cache.quota' = '1k')")
      cleared(spark.table(t).collect())
      val held = sql("SELECT coalesce(sum(bytes), 0) FROM oap.system.chunks").head().getLong(0)
      assert(held <= 1024, "most chunks are larger")
      val why = sql(s"CACHE SELECT v FROM $t").collect()
      assert(why.head.getAs[Long]("refused_chunks") > 0)
      assert(why.head.getAs[String]("why").nonEmpty)
    }

    test(s"${form.name}: clear of a table leaves the others") {
      val (one, other) = (made(form, "one"), made(form, "other"))
      cleared(spark.table(one).collect())
      val ofOne = chunks
      spark.table(other).collect()
      assert(call(s"clear(table => '$one')") === ofOne)
      assert(chunks > 0)
      assertReadsNothing(spark.table(other))
      assert(counting(spark.table(one).collect())._2.chunksMissed > 0)
    }
  }

  test("columns that were renamed are known by what the files call them") {
    val tables = Seq(
      made(
        form("Delta"),
        "renamed",
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"),
      made(form("Iceberg"), "renamed"))
    for (t <- tables) {
      sql(s"ALTER TABLE $t RENAME COLUMN v TO w")
      sql(s"INSERT INTO $t SELECT id, 'new', NULL, 0 FROM range(10)")
      cleared(spark.table(t).collect())
      val files = filesOf(t).size
      assert(call(s"pin('$t', array('w'))") === files, "a chunk of each file")
      cleared(spark.table(t).collect())
      val pinned = sql("SELECT count(*) FROM oap.system.chunks WHERE pinned").head().getLong(0)
      assert(pinned === files)
      assert(call(s"unpin('$t', array('w'))") === files)
    }
  }

  test("files that lie elsewhere than their table") {
    val delta = made(form("Delta"), "source")
    sql(s"CREATE TABLE db.clone SHALLOW CLONE $delta")
    sql("CREATE TABLE ice.db.away (id BIGINT) USING iceberg " +
      s"TBLPROPERTIES ('write.data.path' = 'watched://$folder/away')")
    sql("INSERT INTO ice.db.away SELECT id FROM range(10)")
    for (t <- Seq("db.clone", "ice.db.away")) {
      cleared(spark.table(t).collect())
      assert(chunks > 0)
      assert(call(s"pin('$t')") === chunks, t)
      assert(call(s"unpin('$t')") === chunks, t)
      assert(call(s"clear(table => '$t')") > 0 && chunks === 0, t)
    }
  }
}
