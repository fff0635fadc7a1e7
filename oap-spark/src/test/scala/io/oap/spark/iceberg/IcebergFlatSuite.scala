package io.oap.spark.iceberg

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{DataFiles, FileFormat}
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.MetadataBuilder

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, WatchedFileSystem}

/** Splits of Iceberg tables that our own readers read: as vector chunks, with conditions in the scan. */
class IcebergFlatSuite extends IcebergSuite with FlatIcebergTables {

  test("flat columns of all types") {
    sql(s"CREATE TABLE ice.db.types (${Types.columns}) USING iceberg")
    insertTypes("types", 9000)
    for (mode <- Seq("CORRECTED", "LEGACY", "EXCEPTION"))
      withConf(
        "spark.sql.parquet.datetimeRebaseModeInRead" -> mode,
        "spark.sql.parquet.int96RebaseModeInRead" -> mode) {
        assertFlat(sql("SELECT * FROM ice.db.types"))
      }
    assertFlat(sql("SELECT max(t), min(n), count(s), sum(d9), max(d20) FROM ice.db.types"))
    for (conf <- Seq(
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.codegen.wholeStage" -> "false",
        "spark.sql.caseSensitive" -> "true",
        "spark.sql.columnVector.offheap.enabled" -> "true"
      ))
      withConf(conf)(assertFlat(sql("SELECT * FROM ice.db.types WHERE i > 100 AND s <> 's5'")))
  }

  test("conditions drop rows, zones and row groups") {
    sql(
      "CREATE TABLE ice.db.some (id BIGINT, v INT, s STRING, d DATE, f DOUBLE, p DECIMAL(10, 2)) " +
        "USING iceberg TBLPROPERTIES ('write.parquet.row-group-size-bytes' = '400000', " +
        "'write.parquet.row-group-check-min-record-count' = '1000', " +
        "'write.parquet.row-group-check-max-record-count' = '1000')")
    sql("INSERT INTO ice.db.some SELECT id, IF(id % 7 = 0, NULL, CAST(id % 97 AS INT)), " +
      "concat('s', id % 50), date_add(DATE '1500-01-01', CAST(id / 100 AS INT)), " +
      "IF(id % 31 = 0, DOUBLE('NaN'), id / 7), id / 100 FROM range(0, 60000, 1, 1)")
    for (condition <- Seq(
        "id = 31234",
        "id BETWEEN 20000 AND 20100 AND v > 50",
        "v IS NULL AND id < 1000",
        "v IN (3, 5, 90) AND s = 's17'",
        "s IN ('s1', 's2')",
        "s LIKE 's4%' AND id > 59000",
        "d < DATE '1501-03-01' OR d > DATE '1901-01-01'",
        "d = DATE '1582-10-04'",
        "f = DOUBLE('NaN') AND id > 40000",
        "f < 10 AND f >= -0.0D",
        "p = 123.45",
        "v <=> NULL AND p > 500",
        "NOT (id > 5 OR v = 3)",
        "id + v > 59000",
        "v > (SELECT max(v) - 2 FROM ice.db.some WHERE id < 500)",
        "id > 90000",
        "rand(3) < 0.01"
      ))
      assertFlat(
        sql(s"SELECT id, v, s, d, f, p FROM ice.db.some WHERE $condition"),
        mayBeEmpty = true)
    withConf("spark.oap.cache.representation" -> "vector") {
      rows(sql("SELECT id, s FROM ice.db.some"))
      val (_, counters) = counting(rows(sql("SELECT s FROM ice.db.some WHERE id = 31234")))
      assert(counters.get(Figure.ROWS_DROPPED) > 0)
      assert(counters.chunksAsked < 8, "row groups were ruled out by statistics")
    }
    val plan = executed(sql("SELECT s FROM ice.db.some WHERE id = 31234"))
    assert(icebergScans(plan).map(_.getMetaData()("RowFilters")) === Seq("[id IN (31234)]"))
  }

  test("a filter that counts rows is asked for those of Iceberg's reader") {
    sql(
      "CREATE TABLE ice.db.counted (id BIGINT, s STRING) USING iceberg TBLPROPERTIES " +
        "('write.parquet.row-group-size-bytes' = '100000', " +
        "'write.parquet.row-group-check-min-record-count' = '1000', " +
        "'write.parquet.row-group-check-max-record-count' = '1000')")
    sql("INSERT INTO ice.db.counted SELECT id, IF(id < 30000, NULL, concat('s', id % 50)) " +
      "FROM range(0, 60000, 1, 1)")
    def where(condition: String) = sql(s"SELECT id FROM ice.db.counted WHERE $condition")
    for (pushDown <- Seq("true", "false"))
      withConf("spark.sql.parquet.filterPushdown" -> pushDown) {
        for (condition <- Seq(
            "rand(3) < 0.01 AND id BETWEEN 20000 AND 50000",
            "id BETWEEN 20000 AND 50000 AND rand(3) < 0.01",
            "s IS NOT NULL AND rand(7) < 0.3",
            "monotonically_increasing_id() % 10 = 0 AND id > 40000"
          )) withClue(s"$condition, $pushDown: ")(assertByIceberg(where(condition)))
        assertFlat(where("rand(3) < 0.01"))
      }
    assertFlat(sql("SELECT id, rand(3) FROM ice.db.counted WHERE id > 40000"))
  }

  test("what has been read to its end pins nothing") {
    sql("CREATE TABLE ice.db.ended (id BIGINT) USING iceberg")
    sql("INSERT INTO ice.db.ended SELECT id FROM range(0, 20000, 1, 2)")
    def query = sql("SELECT id FROM ice.db.ended WHERE id >= 0")
    withConf("spark.oap.cache.representation" -> "vector") {
      rows(query)
      val batch = icebergScans(executed(query)).head.toBatch
      val readers = batch.planInputPartitions().map(
        batch.createReaderFactory().createColumnarReader(_))
      for (reader <- readers) {
        assert(reader.next())
        assert(CacheControl.localPool().get.pinnedBytes() > 0)
        while (reader.next()) {}
        assertNothingPinned()
      }
      readers.foreach(_.close())
    }
  }

  test("NaN that a writer leaves out of statistics, of row groups and of pages") {
    sql("CREATE TABLE ice.db.nan (id BIGINT, x DOUBLE) USING iceberg")
    // Made by pyarrow 17, with field ids 1 and 2, write_page_index=True, use_dictionary=False, and pages
    // of 3 rows by data_page_size=1 and write_batch_size=3. Row groups of x: [3, NaN, 3] and
    // [3, NaN, 3, 7, 7, 7].
    append("nan", Path.of(getClass.getResource("/nan-outside-statistics.parquet").toURI), 9)
    for (condition <- Seq(
        "x = double('NaN')",
        "x <> 3.0D",
        "x IN (5.0D, double('NaN'))",
        // Of the second row group alone: Iceberg rules out the first one.
        "x > 5 AND id > 3"
      ))
      assertFlat(sql(s"SELECT id, x FROM ice.db.nan WHERE $condition"))
  }

  test("a file whose length a manifest has wrong is read as Iceberg reads it") {
    val large = spark.range(0, 200000, 1, 1).select(
      col("id").as("id", fieldId(1)),
      (col("id") * 7).as("v", fieldId(2)))
    large.write.parquet(path("large"))
    val file = filesIn("large").head
    assert(Files.size(file) > (1 << 20), "Iceberg reads small files whole")
    for (more <- Seq(-1, 1)) {
      val table = if (more < 0) "shorter" else "longer"
      sql(s"CREATE TABLE ice.db.$table (id BIGINT, v BIGINT) USING iceberg " +
        "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
      append(table, file, 200000, Files.size(file) + more)
      def query = sql(s"SELECT sum(v), max(id) FROM ice.db.$table WHERE id % 3 = 1")
      assert(assertSameOutcome(query).isRight)
      sql(s"DELETE FROM ice.db.$table WHERE id % 9 = 4")
      assert(assertSameOutcome(query).isRight, "with deletes")
    }
  }

  test("a file of which a manifest has too few rows") {
    val written = spark.range(0, 20000, 1, 1).select(
      col("id").as("id", fieldId(1)),
      (col("id") * 7).as("v", fieldId(2)))
    written.write.parquet(path("few"))
    sql("CREATE TABLE ice.db.few (id BIGINT, v BIGINT) USING iceberg " +
      "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    append("few", filesIn("few").head, 5000)
    def query = sql("SELECT id, v FROM ice.db.few WHERE v > 3")
    sql("DELETE FROM ice.db.few WHERE id % 100 = 4 AND id < 5000")
    assertFlat(query)
    sql("DELETE FROM ice.db.few WHERE id % 100 = 5")
    assertByIceberg(query)
  }

  private def fieldId(number: Long) =
    new MetadataBuilder().putLong("parquet.field.id", number).build()

  private def filesIn(written: String): Seq[Path] =
    Using.resource(Files.newDirectoryStream(Path.of(path(written)), "part-*.parquet"))(
      _.asScala.toSeq)

  private def append(table: String, file: Path, rows: Long): Unit =
    append(table, file, rows, Files.size(file))

  /** @param length as the manifest has it */
  private def append(table: String, file: Path, rows: Long, length: Long): Unit = {
    val copy = Files.copy(file, folder.resolve(s"$table-${file.getFileName}"))
    val iceberg = Spark3Util.loadIcebergTable(spark, s"ice.db.$table")
    iceberg.newAppend().appendFile(
      DataFiles.builder(iceberg.spec)
        .withPath(s"${WatchedFileSystem.Scheme}://$copy")
        .withFileSizeInBytes(length)
        .withRecordCount(rows)
        .withFormat(FileFormat.PARQUET)
        .build()).commit()
    sql(s"REFRESH TABLE ice.db.$table"): Unit
  }

  test("columns that are renamed, moved, swapped, dropped and added again") {
    sql("CREATE TABLE ice.db.evolved (id BIGINT, a INT, b STRING, c INT) USING iceberg")
    def insert(values: String) = sql(s"INSERT INTO ice.db.evolved SELECT $values FROM range(5000)")
    insert("id, CAST(id AS INT), string(id), CAST(id * 2 AS INT)")
    // Each takes another's name, of another type.
    sql("ALTER TABLE ice.db.evolved RENAME COLUMN a TO x")
    sql("ALTER TABLE ice.db.evolved RENAME COLUMN b TO a")
    sql("ALTER TABLE ice.db.evolved RENAME COLUMN x TO b")
    sql("ALTER TABLE ice.db.evolved ALTER COLUMN c FIRST")
    insert("CAST(id * 3 AS INT), id + 10000, CAST(id AS INT), string(id)")
    assertFlat(sql("SELECT * FROM ice.db.evolved"))
    for (condition <- Seq("a = '17'", "b = 17", "b BETWEEN 4000 AND 4100", "a > '49' AND c < 400"))
      assertFlat(sql(s"SELECT id, a FROM ice.db.evolved WHERE $condition"))
    sql("ALTER TABLE ice.db.evolved DROP COLUMN c")
    sql("ALTER TABLE ice.db.evolved ADD COLUMN c INT")
    assertFlat(sql("SELECT id, a, b FROM ice.db.evolved"))
    // The old files have another column of that name.
    assertByIceberg(sql("SELECT * FROM ice.db.evolved"))
    insert("id, CAST(id AS INT), 'new', CAST(id AS INT)")
    assertMixed(sql("SELECT * FROM ice.db.evolved WHERE b > 4000"))
    sql("ALTER TABLE ice.db.evolved ALTER COLUMN b TYPE BIGINT")
    assertByIceberg(sql("SELECT b FROM ice.db.evolved"))
    insert("id, id, 'wide', 1")
    assertMixed(sql("SELECT b, a FROM ice.db.evolved WHERE b < 50"))
  }

  test("columns that are added with a default") {
    sql("CREATE TABLE ice.db.defaults (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    sql("INSERT INTO ice.db.defaults SELECT id FROM range(5000)")
    addDefault("defaults", "n", 7)
    assertByIceberg(sql("SELECT id, n FROM ice.db.defaults"))
    sql("INSERT INTO ice.db.defaults SELECT id, 8 FROM range(100)")
    assertMixed(sql("SELECT n, id FROM ice.db.defaults WHERE n < 10"))
    assertFlat(sql("SELECT id FROM ice.db.defaults"))
  }

  test("columns of partitions have the values of manifests") {
    sql("CREATE TABLE ice.db.parted (p INT, id BIGINT, q STRING, d DATE, z DOUBLE) USING iceberg " +
      "PARTITIONED BY (p, q)")
    def insert(
        from: Int) = sql("INSERT INTO ice.db.parted SELECT IF(id % 3 = 0, NULL, CAST(id % 3 AS " +
      s"INT)), id, concat('q', id % 2), DATE '1400-02-28', -0.0D FROM range($from, ${from + 5000})")
    insert(0)
    sql("ALTER TABLE ice.db.parted ADD PARTITION FIELD d")
    sql("ALTER TABLE ice.db.parted DROP PARTITION FIELD q")
    insert(5000)
    sql("ALTER TABLE ice.db.parted ADD PARTITION FIELD bucket(2, id)")
    insert(10000)
    assertFlat(sql("SELECT * FROM ice.db.parted"))
    assertFlat(sql("SELECT q, id, p FROM ice.db.parted WHERE p = 2 AND q = 'q1' AND id > 7000"))
    assertFlat(sql("SELECT d, z, id FROM ice.db.parted WHERE p IS NULL AND d < DATE '1500-01-01'"))
    // No file has to be opened for these.
    assertByIceberg(sql("SELECT DISTINCT p FROM ice.db.parted WHERE p > 1"), mayBeEmpty = true)
  }

  test("columns of Iceberg's own, nested ones and types of others are Iceberg's") {
    sql("CREATE TABLE ice.db.others (id BIGINT, a ARRAY<INT>) USING iceberg")
    sql("INSERT INTO ice.db.others SELECT id, array(1) FROM range(3000)")
    assertByIceberg(sql("SELECT id, _file, _pos FROM ice.db.others"))
    assertByIceberg(sql("SELECT id, a FROM ice.db.others"))
    assertFlat(sql("SELECT id FROM ice.db.others WHERE id > 2000"))
    sql("CREATE TABLE ice.db.pages (id BIGINT, s STRING) USING iceberg TBLPROPERTIES " +
      "('write.parquet.page-version' = 'v2', 'write.parquet.dict-size-bytes' = '100')")
    sql("INSERT INTO ice.db.pages SELECT id, concat('text', id) FROM range(3000)")
    withConf("spark.sql.codegen.wholeStage" -> "false") {
      assertByIceberg(sql("SELECT id, s FROM ice.db.pages"))
    }
  }

  test("the name of the file that is read") {
    sql("CREATE TABLE ice.db.named (id BIGINT) USING iceberg")
    for (part <- 0 until 3)
      sql(
        s"INSERT INTO ice.db.named SELECT id FROM range(${part * 100}, ${part * 100 + 100}, 1, 1)")
    assertFlat(sql("SELECT id, input_file_name(), input_file_block_start() FROM ice.db.named"))
    val plan = executed(sql("SELECT id FROM ice.db.named"))
    assert(collectLeaves(plan).head.metrics("numSplits").value === 3)
  }

  private def insertTypes(table: String, count: Int): DataFrame =
    sql(s"INSERT INTO ice.db.$table SELECT ${Types.values} FROM range(0, $count, 1, 1)")
}
