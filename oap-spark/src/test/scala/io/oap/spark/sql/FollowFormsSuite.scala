package io.oap.spark.sql

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.CacheControl

/** The pools as tables of Iceberg and Delta go from snapshot to snapshot. */
class FollowFormsSuite extends TableForms {

  private val followed = forms.filter(form => Set("Iceberg", "Delta")(form.name))

  private val jobs = new AtomicInteger

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit =
        if (String.valueOf(start.properties.getProperty("spark.job.description"))
            .startsWith("Loads new files")) jobs.incrementAndGet(): Unit
    })
  }

  override protected def afterAll(): Unit = {
    CacheControl.clear(spark)
    super.afterAll()
  }

  private def compact(t: String): Unit = {
    val statement =
      if (t.startsWith("ice."))
        s"CALL ice.system.rewrite_data_files(table => '${t.stripPrefix("ice.")}', " +
          "options => map('rewrite-all', 'true'))"
      else s"OPTIMIZE $t"
    sql(statement).collect(): Unit
  }

  private def versionOf(t: String): Long =
    if (t.startsWith("ice."))
      sql(s"SELECT snapshot_id FROM $t.snapshots ORDER BY committed_at DESC").head().getLong(0)
    else sql(s"DESCRIBE HISTORY $t").head().getLong(0)

  /** Paths of files of which chunks are pinned. */
  private def pinnedFiles: Set[String] =
    sql("SELECT DISTINCT path FROM oap.system.chunks WHERE pinned").collect()
      .map(_.getString(0)).toSet

  /** What is pinned of each of those files. */
  private def pinnedOf(files: Set[String]): Set[Set[Int]] = {
    val pinned = sql("SELECT path, leaf FROM oap.system.chunks WHERE pinned").collect()
      .groupMap(_.getString(0))(_.getInt(1))
    files.map(file => pinned.getOrElse(file, Array.empty[Int]).toSet)
  }

  for (form <- followed) {
    test(s"${form.name}: a pinned table is compacted") {
      val t = made(form, "compacted")
      CacheControl.clear(spark)
      sql(s"CALL oap.system.pin('$t')").collect()
      spark.table(t).collect()
      val (former, before) = (filesOf(t).toSet, versionOf(t))
      assert(pinnedFiles === former)
      val whole = pinnedOf(former)
      compact(t)
      val files = filesOf(t).toSet
      assert(files.intersect(former) === Set())
      assert(pinnedFiles === former, "nobody has read it since")
      // Planned only: to read a column while it is loaded would make another chunk of it.
      spark.table(t).queryExecution.executedPlan
      eventually(timeout(1.minute)) {
        assert(pinnedFiles === files)
        assert(pinnedOf(files) === whole)
      }
      assertReadsNothing(spark.table(t))
      // What leaves first is there as long as there is room.
      assertReadsNothing(sql(s"SELECT * FROM $t VERSION AS OF $before"))
      val loads = jobs.get
      for (_ <- 1 to 3) sql(s"SELECT max(v) FROM $t").collect()
      assert(jobs.get === loads, "nothing has changed")
    }

    test(s"${form.name}: some columns of a pinned table, rows of which change") {
      val t = made(form, "changed")
      CacheControl.clear(spark)
      sql(s"CALL oap.system.pin('$t', array('v'))").collect()
      spark.table(t).collect()
      sql(s"UPDATE $t SET v = 'new' WHERE id = 17")
      val files = filesOf(t).toSet
      sql(s"SELECT count(*) FROM $t").collect()
      sql(s"SELECT id FROM $t WHERE id = 17").collect()
      eventually(timeout(1.minute))(assert(pinnedFiles === files))
      assert(pinnedColumns === Set("v"))
      assertReadsNothing(sql(s"SELECT v FROM $t"))
    }

    test(s"${form.name}: a table that is not pinned") {
      val t = made(form, "free")
      CacheControl.clear(spark)
      spark.table(t).collect()
      val loads = jobs.get
      compact(t)
      for (_ <- 1 to 3) assertSameRows(spark.table(t))
      assert(jobs.get === loads)
    }

    test(s"${form.name}: a session that does not want it") {
      val t = made(form, "unwanted")
      CacheControl.clear(spark)
      sql(s"CALL oap.system.pin('$t')").collect()
      withConf("spark.oap.cache.followTables" -> "false") {
        spark.table(t).collect()
        val former = filesOf(t).toSet
        compact(t)
        sql(s"SELECT count(*) FROM $t WHERE id = 7").collect()
        assert(former.subsetOf(pinnedFiles))
      }
    }
  }
}
