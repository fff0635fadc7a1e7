package io.oap.spark.delta

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS

import org.apache.spark.sql.functions.input_file_name

import io.oap.spark.ExtendedTest
import io.oap.spark.directory.{FileChanges, FollowedTable, FollowedTables, TableState}
import io.oap.spark.filescan.{CachedFileIndex, CachedFormat}
import io.oap.spark.table.PinnedColumns

/** Which files tables of Delta have no more, and which they had not, from version to version. */
@ExtendedTest
class DeltaFollowSuite extends DeltaScanSuite {

  private def found(query: String): FollowedTable = {
    val scan = cachedFileScans(sql(query).queryExecution.executedPlan).head
    FollowedDeltaTable.of(
      spark,
      scan.relation.fileFormat.asInstanceOf[CachedFormat].meant,
      scan.relation.location match {
        case index: CachedFileIndex => index.meant
        case index => index
      },
      None,
      Some(PinnedColumns.All)
    ).get
  }

  private def filesOf(query: String): Set[String] = alone(
    sql(query).select(input_file_name()).collect().map(row => decoded(row.getString(0))).toSet)

  // As readers name them: Spark's function gives a URI.
  private def decoded(uri: String): String =
    new org.apache.hadoop.fs.Path(new java.net.URI(uri)).toString

  for (vectors <- Seq("true", "false")) test(s"all kinds of commits, deletion vectors $vectors") {
    val t = s"delta.`${watched("commits-" + vectors)}`"
    sql(s"CREATE TABLE $t (id BIGINT, p STRING) USING delta PARTITIONED BY (p) " +
      s"TBLPROPERTIES ('delta.enableDeletionVectors' = '$vectors')")
    for (from <- Seq(0, 500))
      sql(
        s"INSERT INTO $t SELECT id, concat('a b/%', id % 2) FROM range($from, ${from + 500}, 1, 1)")
    for (change <- Seq(
        s"DELETE FROM $t WHERE id % 10 = 3",
        s"UPDATE $t SET id = -id WHERE id % 10 = 4",
        s"INSERT INTO $t VALUES (7000, 'c'), (7001, 'd')",
        s"OPTIMIZE $t",
        s"DELETE FROM $t WHERE p = 'c'",
        s"RESTORE TABLE $t TO VERSION AS OF 3"
      )) sql(change).collect()
    val now = found(s"SELECT * FROM $t")
    val last = now.state.id
    val files = filesOf(s"SELECT * FROM $t")
    assert(last >= 8)
    for (version <- 1L to last) {
      val former = s"SELECT * FROM $t VERSION AS OF $version"
      assert(found(former).state === TableState(version, version, now.state.made))
      val FileChanges(gone, added) = now.changesSince(TableState(version, version))
      val formerFiles = filesOf(former)
      assert((formerFiles -- files).subsetOf(gone), version)
      assert(gone.intersect(files) === Set(), version)
      assert((files -- formerFiles).subsetOf(added), version)
    }
  }

  test("a log that was cleaned, and too many steps") {
    val t = s"delta.`${watched("cleaned")}`"
    sql(s"CREATE TABLE $t (id BIGINT) USING delta")
    sql(s"INSERT INTO $t VALUES (1)")
    sql(s"DELETE FROM $t")
    sql(s"INSERT INTO $t VALUES (1)")
    val now = found(s"SELECT * FROM $t")
    assert(now.changesSince(TableState(1, 1)).gone.size === 1)
    assert(now.changesSince(TableState(-1000, -1000)) === FileChanges(Set(), Set()))
    java.nio.file.Files.delete(folder.resolve("cleaned/_delta_log/00000000000000000002.json"))
    assert(now.changesSince(TableState(1, 1)) === FileChanges(Set(), Set()))
  }

  test("a table that is replaced, and one that is dropped and made anew at its path") {
    val left = new LinkedBlockingQueue[Seq[String]]
    val followed = new FollowedTables(request => left.put(request.paths.toSeq))
    def look(what: String = "made"): FollowedTable = {
      val now = found(s"SELECT * FROM $what")
      followed.onFound(spark, Some(now))
      now
    }
    def assertLeft(files: Set[String]): Unit = {
      assert(files.nonEmpty)
      assert(Option(left.poll(20, SECONDS)).map(_.toSet) === Some(files))
    }
    def change(command: String): Unit = {
      val before = filesOf("SELECT * FROM made")
      sql(command)
      look()
      assertLeft(before)
    }
    def make(): Unit = {
      sql("CREATE TABLE made (id BIGINT) USING delta")
      for (id <- 1 to 4) sql(s"INSERT INTO made VALUES ($id)")
    }
    make()
    val first = look()
    change("DELETE FROM made")
    sql("INSERT INTO made VALUES (5)")
    look()
    change("CREATE OR REPLACE TABLE made USING delta AS SELECT 6L AS id")
    look("made VERSION AS OF 2")
    change("DELETE FROM made")
    sql("DROP TABLE made")
    make()
    val second = look()
    assert(second.key === first.key)
    change("DELETE FROM made")
    sql("DROP TABLE made")
    assert(left.isEmpty)
  }
}
