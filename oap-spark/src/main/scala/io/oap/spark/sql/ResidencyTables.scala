package io.oap.spark.sql

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import io.oap.cache.quota.QuotaRule.Kind
import io.oap.cache.stats.Figure
import io.oap.spark.directory.Cluster
import io.oap.spark.executor.{HeldChunk, HeldFile, ListChunks}
import io.oap.spark.status.Figures
import io.oap.spark.table.{QuotaRegistry, TablesRead}

/** The tables of `oap.system` on what the pools hold: chunks, files, columns, tables. */
private object ResidencyTables {

  /** How long a query waits for executors; what those hold that do not answer is left out. */
  private val Patience = 10.seconds

  /** Some megabytes of a message. */
  private val ChunksAtATime = 100000L

  def all: Seq[SystemTable[_]] = Seq(tables, columns, files, chunks)

  private type Held = (String, HeldFile)

  private val chunks = new SystemTable[(Held, HeldChunk)](
    "chunks",
    Seq[SystemColumn[(Held, HeldChunk)]](
      SystemColumn("executor_id", StringType, "executor that holds it", _._1._1),
      SystemColumn("path", StringType, "file it is of", _._1._2.path),
      SystemColumn("row_group", IntegerType, "ordinal of the row group in the file", _._2.rowGroup),
      SystemColumn(
        "column",
        StringType,
        "top-level column it belongs to",
        { case ((_, file), chunk) => file.leaves(chunk.leaf) }),
      SystemColumn("leaf", IntegerType, "ordinal of its leaf column in the file", _._2.leaf),
      SystemColumn(
        "representation",
        StringType,
        "encoded: as it stands in the file; vector: as a vector chunk",
        chunk => if (chunk._2.isVector) "vector" else "encoded"),
      SystemColumn("bytes", LongType, "bytes it takes in the pool", _._2.bytes),
      SystemColumn("encoded_bytes", LongType, "its length in the file", _._2.encodedBytes),
      SystemColumn(
        "pinned",
        BooleanType,
        "whether it stays until its table is unpinned",
        _._2.isPinned)
    ),
    session => for (held <- heldFiles(session); chunk <- held._2.chunks) yield (held, chunk)
  )

  private val files = new SystemTable[(HeldFile, HeldSum)](
    "files",
    Seq[SystemColumn[(HeldFile, HeldSum)]](
      SystemColumn("path", StringType, "the file", _._1.path),
      SystemColumn(
        "table",
        StringType,
        "table it belongs to, or a folder",
        file => TablesRead.nameOf(file._1.path)),
      SystemColumn("length", LongType, "bytes of the file", _._1.length),
      SystemColumn(
        "modified",
        TimestampType,
        "when it was written, as its identity says",
        file => new java.sql.Timestamp(file._1.modificationTime)),
      SystemColumn(
        "last_planned",
        TimestampType,
        "when this application planned last to read its table",
        file => timestamp(TablesRead.get(file._1.path).map(_.atMillis))),
      SystemColumn(
        "hit_ratio",
        DoubleType,
        "part of its column chunks that were asked for on executors that hold some, and were in " +
          "a pool, from 0 to 1",
        file =>
          if (file._1.chunksAsked == 0) null
          else file._1.chunksFound.toDouble / file._1.chunksAsked
      )
    ) ++ sums[(HeldFile, HeldSum)](_._2, "the file") :+ bytesByColumn(_._2),
    session =>
      groups(session)(_.identity).values.toSeq
        .map(held => (together(held.map(_._2)), HeldSum.of(held)))
        .sortBy(_._1.path)
  )

  /** A file with what was asked for of it on all executors that hold some. */
  private def together(held: Seq[HeldFile]): HeldFile = held.head.copy(
    chunksFound = held.map(_.chunksFound).sum,
    chunksAsked = held.map(_.chunksAsked).sum)

  private val columns = new SystemTable[(String, String, HeldSum)](
    "columns",
    Seq[SystemColumn[(String, String, HeldSum)]](
      SystemColumn("table", StringType, "the table, or a folder", _._1),
      SystemColumn("column", StringType, "top-level column", _._2)
    ) ++ sums[(String, String, HeldSum)](_._3, "the column"),
    session =>
      (for {
        (table, held) <- byTable(session)
        part = HeldSum.partOfTable(held)
        column <- held.flatMap(_._2.leaves).distinct
        sum = HeldSum.of(
          held.map { case (executor, file) => (executor, only(file, column)) },
          part)
        if sum.chunks > 0
      } yield (table, column, sum)).sortBy(row => (row._1, row._2))
  )

  /**
   * What is held of a table, by the executors that hold some.
   *
   * @param read what its scans have counted; nothing where none of them is remembered
   */
  private final case class HeldTable(
      table: String,
      held: Seq[Held],
      read: Option[Figures],
      session: SparkSession) {
    val sum: HeldSum = HeldSum.of(held, HeldSum.partOfTable(held))
    def lastPlanned: Option[Long] =
      held.flatMap { case (_, file) => TablesRead.get(file.path).map(_.atMillis) }.maxOption
    def mostBytes: Long =
      held.groupMapReduce(_._1)(_._2.chunks.map(_.bytes).sum)(_ + _).values.maxOption.getOrElse(0L)
    def share(kind: Kind): String = held.headOption.flatMap { case (_, file) =>
      QuotaRegistry.of(session.sparkContext).of(kind, file.path)
    }.fold[String](null)(_.text)
  }

  private val tables = new SystemTable[HeldTable](
    "tables",
    Seq[SystemColumn[HeldTable]](
      SystemColumn("table", StringType, "the table, or a folder", _.table),
      SystemColumn(
        "last_planned",
        TimestampType,
        "when this application planned last to read it",
        table => timestamp(table.lastPlanned)),
      SystemColumn(
        "hit_ratio",
        DoubleType,
        "part of the column chunks its scans asked for that were in a pool, from 0 to 1, as in " +
          "the tab",
        _.read.flatMap(read => Option(read.hitRatio)).orNull
      )
    ) ++ sums[HeldTable](_.sum, "the table") ++ Seq(
      bytesByColumn[HeldTable](_.sum),
      SystemColumn[HeldTable](
        "most_bytes",
        LongType,
        "bytes of pool on the executor that holds most of it",
        _.mostBytes),
      SystemColumn[HeldTable](
        "quota",
        StringType,
        "part of each pool that it has at most, alone or with others in its folder",
        _.share(Kind.QUOTA)),
      SystemColumn[HeldTable](
        "minimum",
        StringType,
        "part of each pool that is sure to it, alone or with others in its folder",
        _.share(Kind.MINIMUM))
    ),
    session => {
      val read = Cluster.of(session.sparkContext).status.snapshot().tables.asScala
        .map(table => table.table -> table.readers).toMap
      byTable(session).map { case (table, held) =>
        HeldTable(table, held, read.get(table), session)
      }.sortBy(_.table)
    }
  )

  private def timestamp(millis: Option[Long]): java.sql.Timestamp =
    millis.map(new java.sql.Timestamp(_)).orNull

  private def bytesByColumn[A](sum: A => HeldSum): SystemColumn[A] = SystemColumn(
    "bytes_by_column",
    MapType(StringType, LongType),
    "bytes of pool for each top-level column",
    sum(_).bytesByColumn)

  private def sums[A](sum: A => HeldSum, whole: String): Seq[SystemColumn[A]] = Seq(
    SystemColumn("executors", IntegerType, "how many executors hold any of it", sum(_).executors),
    SystemColumn("files", IntegerType, "of how many files", sum(_).files),
    SystemColumn(
      "chunks",
      LongType,
      "column chunks, each time an executor holds one",
      sum(_).chunks),
    SystemColumn(
      "encoded_bytes",
      LongType,
      "bytes of pool for encoded chunks",
      sum(_).encodedBytes),
    SystemColumn("vector_bytes", LongType, "bytes of pool for vector chunks", sum(_).vectorBytes),
    SystemColumn(
      "share",
      DoubleType,
      s"part of $whole that one executor or more hold, from 0 to 1, by encoded bytes",
      sum(_).share)
  )

  private def heldFiles(session: SparkSession): Seq[Held] = for {
    answer <- Cluster.of(session.sparkContext).askInParts(
      Patience,
      report => 1 + (report.figures.get(Figure.CHUNKS) / ChunksAtATime).toInt)(
      ListChunks(_))
    file <- answer.value.toSeq.flatten.flatten
  } yield (answer.executor, file)

  private def groups[K](session: SparkSession)(key: HeldFile => K): Map[K, Seq[Held]] =
    heldFiles(session).groupBy(held => key(held._2))

  private def byTable(session: SparkSession): Seq[(String, Seq[Held])] =
    groups(session)(file => TablesRead.nameOf(file.path)).toSeq

  /** The file as if it had no other column. */
  private def only(file: HeldFile, column: String): HeldFile = file.copy(
    leafBytes = file.leafBytes.zip(file.leaves).map { case (bytes, name) =>
      if (name == column) bytes else 0
    },
    chunks = file.chunks.filter(chunk => file.leaves(chunk.leaf) == column)
  )
}

/**
 * What executors hold of some files, together.
 *
 * @param share see the columns of [[ResidencyTables]]
 * @param bytesByColumn bytes of pool, by top-level column
 */
private final case class HeldSum(
    executors: Int,
    files: Int,
    chunks: Long,
    encodedBytes: Long,
    vectorBytes: Long,
    share: Double,
    bytesByColumn: Map[String, Long])

private object HeldSum {

  /**
   * What part of their table some files are by their lengths, from 0 to 1; 1 where the length of the
   * table is not known.
   */
  def partOfTable(held: Seq[(String, HeldFile)]): Double = {
    val here = held.map { case (_, file) => file.identity -> file.length }.toMap.values.sum
    val length = held.headOption.flatMap { case (_, file) => TablesRead.get(file.path) }
      .flatMap(_.length)
    length.filter(_ > here).fold(1.0)(here.toDouble / _)
  }

  /**
   * @param held files with the executors that hold some of them
   * @param part what part they are of what the share is of. Other files are taken to be, by their
   *     lengths, as these
   */
  def of(held: Seq[(String, HeldFile)], part: Double = 1): HeldSum = {
    val some = held.filter(_._2.chunks.nonEmpty)
    val chunks = some.flatMap(_._2.chunks)
    val byFile = held.map(_._2).groupBy(_.identity).values
    val inAll = byFile.map(_.head.leafBytes.sum).sum
    val heldOnce = byFile.map { file =>
      file.flatMap(_.chunks).distinctBy(chunk => (chunk.rowGroup, chunk.leaf))
        .map(_.encodedBytes).sum
    }.sum
    HeldSum(
      some.map(_._1).distinct.size,
      some.map(_._2.identity).distinct.size,
      chunks.size.toLong,
      chunks.filterNot(_.isVector).map(_.bytes).sum,
      chunks.filter(_.isVector).map(_.bytes).sum,
      if (inAll == 0) 0.0 else part * heldOnce / inAll,
      some.flatMap { case (_, file) =>
        file.chunks.map(chunk => file.leaves(chunk.leaf) -> chunk.bytes)
      }.groupMapReduce(_._1)(_._2)(_ + _)
    )
  }
}
