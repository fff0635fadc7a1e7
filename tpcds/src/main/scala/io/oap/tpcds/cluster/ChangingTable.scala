package io.oap.tpcds.cluster

import java.nio.file.{Files, Path, StandardCopyOption}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.spark.sql.SparkSession

/**
 * The table store_sales of both sessions, on files of its own that are written again and again: by
 * INSERT OVERWRITE from either session, and file by file behind the back of both.
 */
final class ChangingTable(sessions: Seq[SparkSession], folder: Path, random: Random) {
  private val table = folder.resolve(ChangingTable.Name)
  private val original = s"${ChangingTable.Name}_original"

  for (session <- sessions) {
    session.sql(s"ALTER TABLE ${ChangingTable.Name} RENAME TO $original")
    session.sql(s"CREATE TABLE ${ChangingTable.Name} LIKE $original USING parquet " +
      s"LOCATION '${table.toUri}'")
  }
  insert()

  /** Changes what the table holds; returns how. */
  def change(): String = if (random.nextBoolean()) insert() else replaceFile()

  private def insert(): String = {
    val session = sessions(random.nextInt(sessions.length))
    session.sql(s"INSERT OVERWRITE TABLE ${ChangingTable.Name} ${someRows()}")
    refresh()
    "INSERT OVERWRITE"
  }

  /** Another file of the same name, as another engine would write it. */
  private def replaceFile(): String = {
    val beside = folder.resolve("beside")
    sessions.head.sql(someRows()).coalesce(1).write.mode("overwrite").parquet(beside.toUri.toString)
    val target = dataFiles(table)(random.nextInt(dataFiles(table).length))
    // Hadoop's local file system keeps checksums in a file beside each.
    Files.deleteIfExists(target.resolveSibling(s".${target.getFileName}.crc"))
    Files.move(
      dataFiles(beside).head,
      target,
      StandardCopyOption.REPLACE_EXISTING,
      StandardCopyOption.ATOMIC_MOVE)
    refresh()
    "a file replaced"
  }

  private def someRows(): String =
    s"SELECT * FROM $original WHERE pmod(hash(ss_ticket_number, ${random.nextInt()}), 16) < " +
      (1 + random.nextInt(4))

  // Each session has its own listing of the files.
  private def refresh(): Unit =
    sessions.foreach(_.sql(s"REFRESH TABLE ${ChangingTable.Name}"))

  private def dataFiles(folder: Path): Seq[Path] =
    Using.resource(Files.list(folder)) { files =>
      files.iterator.asScala.filter(_.toString.endsWith(".parquet")).toSeq.sorted
    }
}

private object ChangingTable {
  private val Name = "store_sales"
}
