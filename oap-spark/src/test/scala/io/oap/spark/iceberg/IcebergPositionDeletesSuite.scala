package io.oap.spark.iceberg

import java.nio.file.{Files, Paths}

import scala.util.Using

import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.cache.vector.VectorChunk
import io.oap.common.ChunkKey
import io.oap.spark.{CacheControl, DamagedPool}

/**
 * Rows that are deleted by their positions, by delete files and by deletion vectors, in splits that our
 * own readers read.
 */
class IcebergPositionDeletesSuite extends IcebergSuite with FlatIcebergTables {
  private val rowCount = 60000

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.files.maxPartitionBytes" -> "1g")

  /** A table of one file with several row groups, in which the number of a row is its position. */
  private def create(table: String, version: Int, more: String = ""): Unit = {
    sql(s"CREATE TABLE ice.db.$table (id BIGINT, v INT, s STRING, u STRING) USING iceberg " +
      s"TBLPROPERTIES ('format-version' = '$version', 'write.delete.mode' = 'merge-on-read', " +
      "'write.parquet.row-group-size-bytes' = '340000', " +
      "'write.parquet.row-group-check-min-record-count' = '1000', " +
      s"'write.parquet.row-group-check-max-record-count' = '1000' $more)")
    sql(s"INSERT INTO ice.db.$table SELECT id, IF(id % 13 = 0, NULL, CAST(id % 97 AS INT)), " +
      s"concat('s', id % 50), concat('unique ', id) FROM range(0, $rowCount, 1, 1)")
    val file = new Path(pathOf(s"$table.files"))
    val footer = HadoopInputFile.fromPath(file, spark.sessionState.newHadoopConf())
    val groups = Using.resource(ParquetFileReader.open(footer))(_.getRowGroups.size)
    assert(groups > 3 && rowCount / groups > 2 * VectorChunk.ZONE_ROWS)
  }

  /** The path of the only one of some files. */
  private def pathOf(files: String): String = {
    val found = sql(s"SELECT file_path FROM ice.db.$files").collect()
    assert(found.length === 1)
    found.head.getString(0)
  }

  private def delete(table: String, condition: String): Unit =
    sql(s"DELETE FROM ice.db.$table WHERE $condition"): Unit

  /** Where zones begin and end, whole zones and row groups, some and nearly all of others. */
  private val deletes = Seq(
    s"id IN (0, 1, 4095, 4096, 8191, 8192, ${rowCount - 1})",
    "id BETWEEN 3000 AND 13000",
    "id BETWEEN 14000 AND 24000 AND id % 3 = 1",
    "id BETWEEN 24000 AND 39000 AND id % 500 <> 7"
  )

  private val queries = Seq(
    "SELECT * FROM %s",
    "SELECT u FROM %s WHERE id %% 2 = 0",
    "SELECT id, s FROM %s WHERE v < 40 AND id > 100",
    "SELECT u FROM %s WHERE s IN ('s7', 's8') OR s IS NULL",
    "SELECT count(v), max(u), sum(id) FROM %s WHERE v IS NOT NULL",
    "SELECT id FROM %s WHERE id BETWEEN 12990 AND 13010",
    "SELECT f.u FROM %s f JOIN (SELECT id * 7 AS k FROM range(2000)) d ON f.id = d.k"
  )

  for (version <- Seq(2, 3)) test(s"any rows of any row groups, format version $version") {
    val table = s"t$version"
    create(table, version)
    for (condition <- deletes) {
      delete(table, condition)
      assertFlat(sql(s"SELECT id, s FROM ice.db.$table"))
    }
    for (query <- queries) withClue(s"$query: ")(
      assertFlat(sql(query.format(s"ice.db.$table"))))
    def some = sql(s"SELECT id, s FROM ice.db.$table WHERE v <> 5")
    for (batch <- Seq("7", "20000"); representation <- Seq("encoded", "vector"))
      withConf(
        "spark.sql.parquet.columnarReaderBatchSize" -> batch,
        "spark.oap.cache.representation" -> representation) {
        assertSameRows(some)
        assertSameRows(sql(s"SELECT id, s FROM ice.db.$table"))
      }
    for (conf <- Seq(
        "spark.sql.columnVector.offheap.enabled" -> "true",
        "spark.sql.codegen.wholeStage" -> "false"
      ))
      withConf(conf)(assertFlat(some))
    // Iceberg forgets what it kept of deletes when a broadcast of the table is garbage: so reads are not counted.
    for (representation <- Seq("encoded", "auto", "vector"))
      withConf(
        "spark.sql.iceberg.executor-cache.enabled" -> "true",
        "spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        for (run <- 1 to 3) assertRows(rows(some), alone(rows(some)), s"$representation, run $run")
        assert(held.forall(_.representation == ChunkKey.ENCODED) === (representation == "encoded"))
      }
    delete(table, "length(u) > 0")
    assert(rows(sql(s"SELECT id, s FROM ice.db.$table")) === Nil)
  }

  for (version <- Seq(2, 3))
    test(s"splits of one file, and columns beside vector chunks, format version $version") {
      val table = s"cut$version"
      create(table, version, ", 'read.split.target-size' = '100000'")
      deletes.take(3).foreach(delete(table, _))
      assert(sql(s"SELECT s FROM ice.db.$table").rdd.getNumPartitions > 2)
      withConf("spark.oap.cache.representation" -> "vector") {
        for (seen <- Seq("v", "s", "u")) {
          CacheControl.clear(spark)
          for (_ <- 1 to 2) rows(sql(s"SELECT $seen FROM ice.db.$table"))
          def query = sql(s"SELECT id, u, s FROM ice.db.$table WHERE v < 50 AND s <> 's3'")
          assertRows(rows(query), alone(rows(query)), s"$seen as vectors")
          assertRows(rows(query), alone(rows(query)), "all as vectors")
        }
      }
    }

  test("what is told of rows that are left out") {
    create("told", 2)
    delete("told", deletes(1))
    def told(query: DataFrame): Long =
      collectWithSubqueries(executed(query)) { case scan: BatchScanExec => scan }
        .map(_.metrics("numDeletes").value).sum
    def all = sql("SELECT * FROM ice.db.told")
    assert(alone(told(all)) === 10001)
    CacheControl.clear(spark)
    for (_ <- 1 to 2) assert(told(all) === 10001)
    assertFlat(all)
  }

  test("what Iceberg keeps of delete files is not read for each split") {
    create("kept", 2, ", 'read.split.target-size' = '100000'")
    delete("kept", deletes(2))
    def asked(keeps: Boolean): Long =
      withConf("spark.sql.iceberg.executor-cache.enabled" -> keeps.toString) {
        CacheControl.clear(spark)
        counting(rows(sql("SELECT sum(v) FROM ice.db.kept")))._2.chunksAsked
      }
    assert(asked(keeps = true) < asked(keeps = false))
    assertFlat(sql("SELECT sum(v) FROM ice.db.kept"))
  }

  test("delete files that cannot be read") {
    create("lost", 2)
    delete("lost", deletes(2))
    def query = sql("SELECT u FROM ice.db.lost WHERE v > 3")
    assertFlat(query)
    Files.delete(Paths.get(new Path(pathOf("lost.delete_files")).toUri.getPath))
    assert(assertSameOutcome(query).isLeft)
  }

  test("values of columns and positions that delete rows of one file") {
    create("both", 2)
    delete("both", deletes(2))
    EqualityDeletes.commit(spark, "ice.db.both", "id", 100L until 200L)
    assertByIceberg(sql("SELECT u FROM ice.db.both WHERE v > 3"))
  }

  test("a damaged vector chunk of a file with deleted rows") {
    create("damaged", 2)
    deletes.take(3).foreach(delete("damaged", _))
    withConf("spark.oap.cache.representation" -> "vector") {
      def query = sql("SELECT id, s FROM ice.db.damaged")
      val expected = alone(rows(query))
      CacheControl.clear(spark)
      for (_ <- 1 to 2) assertRows(rows(query), expected, "before")
      // The dictionary has 50 entries, so that the codes of rows can say too much. Those at the end of
      // the second row group do, behind its first batch, where some rows are deleted.
      val second = held.map(_.rowGroup).toSeq.sorted.apply(1)
      def isMeant(key: ChunkKey) =
        key.column == 2 && key.representation != ChunkKey.ENCODED && key.rowGroup == second
      DamagedPool.damage(isMeant(_)) { chunk =>
        for (i <- chunk.remaining * 7 / 8 until chunk.remaining) chunk.put(i, 0xff.toByte)
      }
      val before = held
      val (damaged, counters) = counting(rows(query))
      assertRows(damaged, expected, "damaged")
      assert(held != before && counters.bytesFromFile > 0)
      assertRows(rows(query), expected, "afterwards")
    }
  }
}
