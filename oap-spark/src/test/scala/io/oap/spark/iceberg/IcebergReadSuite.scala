package io.oap.spark.iceberg

import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import io.oap.spark.{CacheControl, WatchedFileSystem}

/** Queries on Iceberg tables give Iceberg's rows, and warm ones read no file. */
class IcebergReadSuite extends IcebergSuite {

  private def create(name: String, more: String = ""): Unit = {
    sql(
      s"CREATE TABLE ice.db.$name (id BIGINT, v INT, s STRING, d DOUBLE, p INT) USING iceberg $more")
    insert(name, 0, 3000)
    insert(name, 3000, 4000)
  }

  private def insert(name: String, from: Int, to: Int): Unit = sql(
    s"""INSERT INTO ice.db.$name
       |SELECT id, CAST(id % 97 AS INT), IF(id % 11 = 0, NULL, concat('s', id % 50)), id / 7,
       |  CAST(id % 3 AS INT)
       |FROM range($from, $to, 1, 2)""".stripMargin): Unit

  test("tables with and without partitions are read from the pool") {
    create("plain")
    create("parted", "PARTITIONED BY (p)")
    for (table <- Seq("ice.db.plain", "ice.db.parted")) {
      assertWarm(sql(s"SELECT * FROM $table"))
      assertWarm(sql(s"SELECT s, v FROM $table WHERE id BETWEEN 100 AND 2000 AND v > 50"))
      assertWarm(sql(s"SELECT p, max(d), count(s), min(id) FROM $table GROUP BY p"))
      assertWarm(sql(s"SELECT id FROM $table WHERE p = 1 ORDER BY id DESC LIMIT 5"))
      assertWarm(sql(s"SELECT *, _file, _pos, _spec_id FROM $table"))
    }
  }

  test("large files are read column by column") {
    // Iceberg reads files of up to 1 MiB whole.
    sql("CREATE TABLE ice.db.large (id BIGINT, r STRING, v BIGINT) USING iceberg TBLPROPERTIES " +
      "('write.parquet.row-group-size-bytes' = '1000000', 'write.parquet.compression-codec' = 'snappy')")
    sql("INSERT INTO ice.db.large SELECT id, uuid(), id * 7919 % 10007 FROM range(0, 80000, 1, 1)")
    assertWarm(sql("SELECT sum(v) FROM ice.db.large"))
    val (_, wider) = counting(rows(sql("SELECT sum(v), max(id) FROM ice.db.large")))
    assert(wider.chunksHit > 0 && wider.chunksMissed > 0)
    assertWarm(sql("SELECT * FROM ice.db.large WHERE v % 13 = 5"))
    withConf("spark.sql.iceberg.vectorization.enabled" -> "false") {
      assertWarm(sql("SELECT max(r), sum(v) FROM ice.db.large WHERE id < 70000"))
    }
  }

  test("a cold run opens and reads small files no more often than Iceberg alone") {
    sql("CREATE TABLE ice.db.requests (id BIGINT, v BIGINT) USING iceberg " +
      "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sql("INSERT INTO ice.db.requests SELECT id, xxhash64(id) FROM range(0, 40000, 1, 1)")
    val bytes = sql("SELECT file_size_in_bytes FROM ice.db.requests.files").head().getLong(0)
    assert(bytes > (200 << 10) && bytes < (1 << 20))
    def query = sql("SELECT sum(id), max(v) FROM ice.db.requests WHERE v % 7 = 3")
    for (deletes <- Seq(false, true)) {
      if (deletes) sql("DELETE FROM ice.db.requests WHERE id % 100 = 7")
      CacheControl.clear(spark)
      val (opened, read) = requests(rows(query))
      val (openedAlone, readAlone) = requests(alone(rows(query)))
      assert(opened > 0 && opened <= openedAlone, s"opened, deletes: $deletes")
      assert(read > 0 && read <= readAlone, s"read, deletes: $deletes")
    }
  }

  /** How often the body opens data and delete files, and reads of them. */
  private def requests(body: => Unit): (Int, Int) = {
    val opened = new AtomicInteger
    val read = WatchedFileSystem.beforeOpens { path =>
      if (path.getParent.toString.contains("/data")) opened.incrementAndGet(): Unit
    }(filesRead(body).size)
    (opened.get, read)
  }

  test("nested types are read row by row from the pool") {
    sql("CREATE TABLE ice.db.nested (id INT, a ARRAY<INT>, m MAP<STRING, BIGINT>, " +
      "st STRUCT<x: INT, y: STRUCT<z: STRING>>) USING iceberg")
    sql("INSERT INTO ice.db.nested SELECT CAST(id AS INT), array(1, CAST(id AS INT), NULL), " +
      "map('k', id), named_struct('x', CAST(id AS INT), 'y', named_struct('z', string(id))) " +
      "FROM range(500)")
    assertWarm(sql("SELECT * FROM ice.db.nested"))
    assertWarm(sql("SELECT id, st.y.z FROM ice.db.nested WHERE st.x > 100"))
  }

  test("columns may come, go and change their names and types") {
    create("evolved")
    sql("ALTER TABLE ice.db.evolved RENAME COLUMN v TO w")
    sql("ALTER TABLE ice.db.evolved ADD COLUMN extra STRING")
    sql("ALTER TABLE ice.db.evolved ALTER COLUMN w TYPE BIGINT")
    sql("ALTER TABLE ice.db.evolved DROP COLUMN d")
    sql("INSERT INTO ice.db.evolved SELECT id, id + 5000000000, 'n', 1, 'x' FROM range(100)")
    sql("ALTER TABLE ice.db.evolved ADD COLUMN v INT")
    assertWarm(sql("SELECT * FROM ice.db.evolved"))
    assertWarm(sql("SELECT w, extra, v FROM ice.db.evolved WHERE w > 50"))
  }

  test("partitions may be by something else from some time on") {
    create("repartitioned", "PARTITIONED BY (p)")
    sql("ALTER TABLE ice.db.repartitioned ADD PARTITION FIELD bucket(4, id)")
    insert("repartitioned", 4000, 5000)
    sql("ALTER TABLE ice.db.repartitioned DROP PARTITION FIELD p")
    insert("repartitioned", 5000, 6000)
    assertWarm(sql("SELECT * FROM ice.db.repartitioned"))
    assertWarm(sql("SELECT id FROM ice.db.repartitioned WHERE p = 2 AND id > 4500"))
  }

  test("an earlier snapshot and an interval of snapshots are read from the pool") {
    create("travelled")
    val snapshots = sql("SELECT snapshot_id FROM ice.db.travelled.snapshots ORDER BY committed_at")
      .collect().map(_.getLong(0))
    assertWarm(sql(s"SELECT id, s FROM ice.db.travelled VERSION AS OF ${snapshots(0)}"))
    assertWarm(spark.read.option("start-snapshot-id", snapshots(0))
      .option("end-snapshot-id", snapshots(1)).format("iceberg").load("ice.db.travelled"))
    sql("ALTER TABLE ice.db.travelled CREATE BRANCH b")
    sql("INSERT INTO ice.db.travelled.branch_b SELECT 9999, 1, 'b', 2, 3")
    assertWarm(sql("SELECT * FROM ice.db.travelled.branch_b WHERE id > 3900"))
  }

  test("join keys prune files of a cached scan") {
    create("fact", "PARTITIONED BY (p)")
    sql("CREATE TABLE ice.db.dim (p INT, name STRING) USING iceberg")
    sql("INSERT INTO ice.db.dim VALUES (0, 'zero'), (1, 'one'), (2, 'two')")
    def query = sql("SELECT f.id, f.s FROM ice.db.fact f JOIN ice.db.dim d ON f.p = d.p " +
      "WHERE d.name = 'one'")
    assertWarm(query)
    def files(body: => Unit) = {
      CacheControl.clear(spark)
      filesRead(body).map(_.getParent.toString).filter(_.contains("fact")).distinct
    }
    assert(files(rows(query)).forall(_.endsWith("p=1")))
    assert(files(alone(rows(query))).forall(_.endsWith("p=1")))
  }

  test("what answers from manifests alone reads no file") {
    create("counted")
    assert(!isCached(sql("SELECT count(*), max(id) FROM ice.db.counted")))
    assert(rows(sql("SELECT count(*), max(id) FROM ice.db.counted")) === Seq("[4000,3999]"))
  }

  test("tables of files as they are, other formats among them") {
    for (format <- Seq("orc", "avro")) {
      create(format, s"TBLPROPERTIES ('write.format.default' = '$format')")
      assertSameRows(sql(s"SELECT * FROM ice.db.$format WHERE v > 10"))
    }
    sql("ALTER TABLE ice.db.orc SET TBLPROPERTIES ('write.format.default' = 'parquet')")
    insert("orc", 4000, 5000)
    val warm = assertSameRows(sql("SELECT * FROM ice.db.orc WHERE v > 10"))
    assert(warm.chunksHit > 0)
  }

  private def dataFiles(table: String): Seq[LocalPath] =
    sql(s"SELECT file_path FROM ice.db.$table.files").collect().toSeq
      .map(row => LocalPath.of(java.net.URI.create(row.getString(0)).getPath))

  test("a file that is gone still answers from the pool; a broken one fails as it does alone") {
    create("gone")
    assertWarm(sql("SELECT * FROM ice.db.gone"))
    val expected = rows(sql("SELECT * FROM ice.db.gone"))
    val files = dataFiles("gone")
    val bytes = files.map(file => file -> Files.readAllBytes(file)).toMap
    files.foreach(Files.delete(_))
    assert(rows(sql("SELECT * FROM ice.db.gone")) === expected)
    assert(assertSameOutcome(sql("SELECT * FROM ice.db.gone")).isLeft)
    // The manifest has its length; what Iceberg says of a shorter file depends on its version.
    files.foreach(file => Files.write(file, bytes(file).take(100)))
    assert(alone(outcome(sql("SELECT * FROM ice.db.gone"))).isLeft)
    CacheControl.clear(spark)
    assert(outcome(sql("SELECT * FROM ice.db.gone")).isLeft)
    for (broken <- Seq[Array[Byte] => Array[Byte]](
        all => all.take(all.length / 2) ++ new Array[Byte](all.length - all.length / 2),
        all => new Array[Byte](200) ++ all.drop(200))) {
      files.foreach(file => Files.write(file, broken(bytes(file))))
      assertSameOutcome(sql("SELECT sum(v), max(s) FROM ice.db.gone"))
    }
    files.foreach(file => Files.write(file, bytes(file)))
    assertWarm(sql("SELECT * FROM ice.db.gone"))
  }

  test("a query that stops early leaves nothing pinned") {
    create("stopped")
    assert(rows(sql("SELECT * FROM ice.db.stopped LIMIT 3")).size === 3)
    val iterator = sql("SELECT id, s FROM ice.db.stopped").toLocalIterator().asScala
    assert(iterator.take(2).size === 2)
  }
}
