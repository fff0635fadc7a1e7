package io.oap.spark.iceberg

import java.nio.file.{Files, Path, StandardCopyOption}

import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.MetadataBuilder

/** A file that a job writes under one name each time, and that a table takes in where it lies. */
private[spark] trait AddedFiles extends IcebergSession {

  /** The file of a table, in the folder of its one partition. */
  private def file(table: String): Path =
    folder.resolve(s"raw-$table").resolve("day=1").resolve("part-0.parquet")

  /** Creates a table without files. */
  protected def createForAdded(table: String, version: Int = 2): Unit =
    sql(s"""CREATE TABLE ice.db.$table (brand INT, name INT, day INT) USING iceberg
           |PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '$version')""".stripMargin): Unit

  /**
   * Has the job write the file anew, and the table take it in instead of the one it had.
   *
   * @param names values of the column `name`, an expression of `id`; they change no file's length
   * @param withIds whether the file has the ids of its columns, as files of Iceberg have
   */
  protected def addAnew(table: String, names: String, withIds: Boolean): Unit = {
    def id(number: Long) =
      if (withIds) new MetadataBuilder().putLong("parquet.field.id", number).build()
      else new MetadataBuilder().build()
    val columns = spark.range(0, 100, 1, 1)
      .selectExpr("CAST(id AS INT) AS brand", s"CAST($names AS INT) AS name")
    write(
      table,
      columns.select(
        columns("brand").as("brand", id(1)),
        columns("name").as("name", id(2))))
    sql(s"DELETE FROM ice.db.$table WHERE day = 1")
    sql(s"""CALL ice.system.add_files(table => 'ice.db.$table',
           |source_table => '`parquet`.`${file(table).getParent.getParent}`')""".stripMargin)
      .collect(): Unit
  }

  private def write(table: String, rows: DataFrame): Unit = {
    val written = folder.resolve(s"written-$table")
    rows.write.mode("overwrite").option("compression", "uncompressed")
      .option("parquet.enable.dictionary", "false").parquet(written.toString)
    val part =
      Using.resource(Files.newDirectoryStream(written, "part-*.parquet"))(_.iterator.next())
    val there = file(table)
    if (Files.exists(there))
      assert(Files.size(part) === Files.size(there), "the file has another length now")
    Files.createDirectories(there.getParent)
    Files.copy(part, there, StandardCopyOption.REPLACE_EXISTING): Unit
  }
}
