package io.oap.spark.read

import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.scan.CachedScanExec

/** What a scan says of the reasons for its misses, in its metrics and in `oap.system.scans`. */
class MissCauseSuite extends CacheSuite {

  private val Rows = 100000

  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "4m")

  /** Columns of numbers that do not compress: each chunk takes 8 bytes a row. */
  private def write(name: String, columns: Int, seed: Int): String = {
    val values = (0 until columns).map(i => s"xxhash64(id, $seed, $i) AS c$i")
    spark.range(0, Rows, 1, 1).selectExpr(values: _*)
      .write.option("parquet.enable.dictionary", "false").parquet(path(name))
    path(name)
  }

  private lazy val small = write("small", 2, 1)
  private lazy val large = write("large", 5, 2)

  /** How many chunks the scan of a query missed or bypassed, by cause, zeros left out. */
  private def causes(query: DataFrame): Map[String, Long] = {
    val scan = collectFirst(executed(query)) {
      case CachedScanExec(s, _) => s
    }.get
    val values = scan.metrics.map { case (name, metric) => name -> metric.value }
    val some = values.filter { case (name, value) =>
      name.matches("(misses|bypasses)[A-Z].*") && value > 0
    }
    def sum(prefix: String) = some.filter(_._1.startsWith(prefix)).values.sum
    assert(sum("misses") === values("chunksMissed"))
    assert(sum("bypasses") === values("chunksBypassed"))
    some
  }

  private def executor: Row = spark.sql("SELECT * FROM oap.system.executors").head()

  private def read(from: String): DataFrame = spark.read.parquet(from)

  test("cold, then hits, evicted by others, cold again after clear") {
    CacheControl.clear(spark)
    val before = executor
    assert(causes(read(small)) === Map("missesCold" -> 2))
    assert(causes(read(small)) === Map.empty)
    (1 to 3).foreach(_ => read(large).collect())
    val again = causes(read(small))
    assert(again.keySet === Set("missesEvicted"))
    val after = executor
    def moved(column: String): Long = after.getAs[Long](column) - before.getAs[Long](column)
    assert(moved("evictions") > 0)
    assert(moved("chunks") === moved("misses") - moved("evictions"), "all others are held")
    spark.sql(s"CALL oap.system.clear(path => '$small')")
    assert(causes(read(small)) === Map("missesCold" -> 2))
  }

  test("a file that was written again") {
    val before = write("changing", 2, 3)
    assert(causes(read(before).select("c0")) === Map("missesCold" -> 1))
    val newer = write("newer", 2, 4)
    def file(folder: String) = Path.of(read(folder).inputFiles.head.stripPrefix("file://"))
    val replaced = file(before)
    Files.copy(file(newer), replaced, StandardCopyOption.REPLACE_EXISTING)
    Files.setLastModifiedTime(replaced, java.nio.file.attribute.FileTime.fromMillis(1000))
    // Hadoop's local file system checks sums that lie beside the file.
    Files.deleteIfExists(replaced.resolveSibling("." + replaced.getFileName + ".crc"))
    assert(causes(read(before)) === Map("missesChangedFile" -> 1, "missesCold" -> 1))
  }

  test("chunks that are larger than the pool, or of which a part is wanted") {
    val huge = path("huge")
    spark.range(0, 800000, 1, 1).selectExpr("xxhash64(id) AS c0", "id AS c1")
      .write.option("parquet.enable.dictionary", "false").parquet(huge)
    assert(causes(read(huge).select("c0")) === Map("bypassesTooLarge" -> 1))
    CacheControl.clear(spark)
    val part = causes(read(huge).where("c1 = 5").select("c0"))
    assert(part.contains("bypassesOther"), part)
  }

  test("chunks that find no room among those in use, and oap.system.scans tells the same") {
    CacheControl.clear(spark)
    val wide = write("wide", 8, 5)
    val found = causes(read(wide))
    assert(found.keySet === Set("missesCold", "bypassesPinnedFull"))
    eventually(timeout(1.minute)) {
      val scans = spark.sql("SELECT misses_cold, bypasses_pinned_full, misses + bypasses " +
        s"FROM oap.system.scans WHERE table = 'file:$wide'").collect().toSeq
      assert(scans === Seq(Row(found("missesCold"), found("bypassesPinnedFull"), 8)))
    }
  }

  test("oap.system.scans tells the same") {
    CacheControl.clear(spark)
    val query = read(small).where("c0 <> 12345")
    assert(causes(query) === Map("missesCold" -> 2))
    eventually(timeout(1.minute)) {
      val last = spark.sql(
        "SELECT misses, misses_cold, misses_evicted, misses_changed_file, bypasses, " +
          "bypasses_not_admitted + bypasses_too_large + bypasses_pinned_full + bypasses_other " +
          s"FROM oap.system.scans WHERE table = 'file:$small' ORDER BY execution_id DESC LIMIT 1")
        .collect().head
      assert(last.toSeq === Seq(2, 2, 0, 0, 0, 0))
    }
  }
}
