package io.oap.tpcds.random

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.oap.tpcds.Json
import io.oap.tpcds.data.DataFolder

/**
 * What the cache gives of whole tables, compared with their files as another reader of Parquet
 * reads them: Spark alone is no judge where its reader is wrong.
 *
 * @param command line of the reader; it gets the folder of the dumps and says what differs
 * @param work folder for the dumps
 */
final class FileJudge(command: Seq[String], work: Path) {
  private val folder = work.resolve("dumps")

  /** Writes down what the cache gives of all tables of a star, without partition columns. */
  def dump(worker: Worker, star: Star): Unit = {
    Files.createDirectories(folder)
    star.tables.foreach { table =>
      val names = table.columns.map(_.name).mkString(", ")
      val (schema, rows) = worker.table(s"SELECT $names FROM ${table.name}")
      val added = table.columns.filter(_.default.isDefined)
      val defaults =
        if (added.isEmpty) Map.empty[String, String]
        else {
          val one = added.map(c => c.kind.stored(c.default.get)).mkString(", ")
          added.map(_.name).zip(worker.values(s"SELECT $one")).toMap
        }
      val name = s"${star.database}.${table.name}"
      val about = DumpedTable(worker.location(table.name), schema, defaults)
      Files.writeString(folder.resolve(s"$name.json"), Json.write(about))
      Files.write(folder.resolve(s"$name.rows"), rows.asJava, UTF_8)
    }
  }

  /** None when all files agree with the dumps, which are thrown away. */
  def compare(): Option[String] = {
    val process =
      new ProcessBuilder((command :+ folder.toString).asJava).redirectErrorStream(true).start()
    process.getOutputStream.close()
    val said = new String(process.getInputStream.readAllBytes(), UTF_8)
    val status = process.waitFor()
    DataFolder.delete(folder)
    if (status == 0) None else Some(said)
  }
}

/**
 * @param schema of the columns, in the order of the dump, as Spark's JSON
 * @param defaults what files that lack a column have of it, as text of the dump
 */
final case class DumpedTable(location: String, schema: String, defaults: Map[String, String])
