package io.oap.spark.delta

import java.nio.file.{Files, StandardCopyOption}

import scala.jdk.CollectionConverters._

import io.oap.spark.CacheControl
import io.oap.spark.filescan.FileScanSuite

/** Files of Delta that somebody overwrites in place, where Delta writes none a second time. */
class DeltaOverwrittenSuite extends DeltaScanSuite {

  /** Tasks that fail are tried again. */
  override protected def settings: Map[String, String] =
    super.settings + ("spark.master" -> "local[2,4]")

  /** Makes a table of two files. */
  private def table(name: String): String = {
    val where = s"delta.`${watched(name)}`"
    sql(s"CREATE TABLE $where USING delta AS SELECT id, concat('s', id % 97) AS s " +
      "FROM range(0, 4000, 1, 2)")
    where
  }

  /** Has one file of a table lie in the place of the other, too. */
  private def overwrite(name: String): Unit = {
    val data = Files.list(folder.resolve(name)).iterator.asScala
      .filter(path => FileScanSuite.isData(path.toString)).toSeq
    assert(data.size === 2)
    Files.copy(data.head, data.last, StandardCopyOption.REPLACE_EXISTING): Unit
  }

  test("a task that has to read such a file is tried again, and asks for its version") {
    val t = table("partly")
    def held = sql(s"SELECT sum(id) FROM $t")
    def whole = sql(s"SELECT sum(id), min(s), count(s) FROM $t")
    assertServedByFiles(held)
    overwrite("partly")
    val expected = alone(rows(whole))
    assertRows(rows(whole), expected, "at once")
    assertRows(rows(held), alone(rows(held)), "of what was held")
    assertServedByFiles(whole)
  }

  test("who clears the cache has all files asked for again") {
    val t = table("wholly")
    def query = sql(s"SELECT sum(id), count(s) FROM $t")
    assertServedByFiles(query)
    overwrite("wholly")
    CacheControl.clear(spark)
    assertServedByFiles(query)
  }
}
