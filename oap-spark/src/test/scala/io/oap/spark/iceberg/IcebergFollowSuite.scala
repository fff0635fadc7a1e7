package io.oap.spark.iceberg

import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.input_file_name

import io.oap.spark.directory.{FileChanges, FollowedTable}
import io.oap.spark.table.PinnedColumns

/** Which files tables of Iceberg have no more, and which they had not, from snapshot to snapshot. */
class IcebergFollowSuite extends IcebergSuite with AddedFiles {

  private def found(t: String): FollowedTable = {
    val scan = collectLeaves(spark.table(t).queryExecution.executedPlan).collectFirst {
      case batch: BatchScanExec => batch.table
    }
    FollowedIcebergTable.of(scan.get, Some(PinnedColumns.All)).get
  }

  private def filesOf(t: String, column: String = "file_path"): Set[String] =
    alone(sql(s"SELECT $column FROM $t").collect().map(_.getString(0)).toSet)

  private def dataFiles(t: String): Set[String] =
    alone(spark.table(t).select(input_file_name()).collect().map(_.getString(0)).toSet)

  private def made(name: String, mode: String): String = {
    val t = s"ice.db.$name"
    sql(s"CREATE TABLE $t (id BIGINT, p INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES (" +
      s"'write.delete.mode' = '$mode', 'write.update.mode' = '$mode')")
    for (from <- Seq(0, 500))
      sql(s"INSERT INTO $t SELECT id, CAST(id % 2 AS INT) FROM range($from, ${from + 500}, 1, 1)")
    t
  }

  for (mode <- Seq("copy-on-write", "merge-on-read")) test(s"$mode, compaction, overwrite") {
    val t = made("t_" + mode.replace('-', '_'), mode)
    val short = t.stripPrefix("ice.")
    val changes = Seq[() => Unit](
      () => sql(s"DELETE FROM $t WHERE id % 10 = 3"),
      () => sql(s"UPDATE $t SET id = -id WHERE id % 10 = 4"),
      () => sql(s"INSERT INTO $t VALUES (7000, 0), (7001, 1)"),
      () =>
        sql(s"CALL ice.system.rewrite_data_files(table => '$short', " +
          "options => map('rewrite-all', 'true'))"),
      () => sql(s"DELETE FROM $t WHERE p = 1"),
      () => sql(s"INSERT OVERWRITE $t VALUES (1, 1)")
    )
    val former = Iterator.iterate(0)(_ + 1).take(changes.size).map { i =>
      val before = (found(t).state, dataFiles(t), filesOf(s"$t.delete_files"))
      changes(i)()
      before
    }.toSeq.toList
    val (now, data, deletes) = (found(t), dataFiles(t), filesOf(s"$t.delete_files"))
    for (((state, dataThen, deletesThen), i) <- former.zipWithIndex) {
      val FileChanges(gone, added) = now.changesSince(state)
      assert((dataThen -- data).subsetOf(gone), i)
      assert((deletesThen -- deletes).subsetOf(gone), i)
      assert(gone.intersect(data ++ deletes) === Set(), i)
      assert(added === data -- dataThen, i)
      assert(state.order < now.state.order)
    }
    assert(now.changesSince(now.state) === FileChanges(Set(), Set()))
  }

  test("a file that is deleted and added again is not gone") {
    createForAdded("back")
    val t = "ice.db.back"
    addAnew("back", "id * 3", withIds = true)
    val before = found(t).state
    addAnew("back", "id * 7", withIds = true)
    val now = found(t)
    assert(now.changesSince(before) === FileChanges(Set(), filesOf(s"$t.files")))
    sql(s"DELETE FROM $t WHERE day = 1")
    assert(found(t).changesSince(before).gone.size === 1)
    assert(found(t).changesSince(now.state).gone.size === 1)
  }

  test("a rollback, and a snapshot that expired") {
    val t = made("rolled", "copy-on-write")
    val first = found(t).state
    sql(s"DELETE FROM $t WHERE id < 10")
    val second = found(t).state
    sql(s"CALL ice.system.rollback_to_snapshot('db.rolled', ${first.id})")
    val back = found(t)
    assert(back.state.id === first.id && back.state.order > second.order)
    assert(back.changesSince(second) === FileChanges(Set(), Set()))
    sql(s"DELETE FROM $t WHERE id < 20")
    assert(found(t).changesSince(first).gone.nonEmpty)
    sql(s"INSERT INTO $t VALUES (1, 1)")
    sql("CALL ice.system.expire_snapshots(table => 'db.rolled', retain_last => 1, " +
      "older_than => timestamp '2100-01-01 00:00:00')")
    assert(found(t).changesSince(first) === FileChanges(Set(), Set()))
  }

  test("names for queries, and tables that have no snapshot") {
    sql("CREATE TABLE ice.db.`a-b` (id BIGINT) USING iceberg")
    val table = collectLeaves(spark.table("ice.db.`a-b`").queryExecution.executedPlan)
      .collectFirst { case batch: BatchScanExec => batch.table }
    assert(table.forall(FollowedIcebergTable.of(_, None).isEmpty))
    sql("INSERT INTO ice.db.`a-b` VALUES (1)")
    assert(found("ice.db.`a-b`").name === Some("ice.db.`a-b`"))
  }
}
