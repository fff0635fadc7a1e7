package io.oap.spark.sql

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import io.oap.cache.quota.QuotaRule.Kind
import io.oap.cache.stats.Figure
import io.oap.spark.cluster.Cluster
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

  /** Executors that are asked for a part at the same time. */
  private val PartsAtATime = 8

  /** A row takes some hundred bytes of the driver's heap. */
  private val MostChunks = 2000000L

  private type Held = (String, HeldFile)

  private val chunks = new SystemTable[(Held, HeldChunk)](
    "chunks",
    Seq[SystemColumn[(Held, HeldChunk)]](
      SystemColumn(
        "executor_id",
        StringType,
        "executor that holds it; one of them where several have one pool together",
        _._1._1),
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
    session => {
      val cluster = Cluster.of(session.sparkContext)
      requireFew(cluster.askFigures().flatMap(_.value).distinctBy(_.poolName)
        .map(_.figures.get(Figure.CHUNKS)).sum)
      val rows = ArrayBuffer.empty[(Held, HeldChunk)]
      eachFile(session) { (executor, file) =>
        val held = (executor, file)
        file.chunks.foreach(chunk => rows += held -> chunk)
      }
      rows.toSeq
    }
  )

  /** Refuses to list so many chunks that the driver's heap may not take them. */
  private[sql] def requireFew(chunks: Long): Unit =
    if (chunks > MostChunks) throw StatusException.tooManyChunks(chunks, MostChunks)

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
    session => {
      val files = mutable.HashMap.empty[(String, Long, Long, String), HeldFile]
      val sums = new HeldSums(file => _ => file.identity)
      eachFile(session) { (executor, file) =>
        sums.add(executor, file)
        files(file.identity) = together(file, files.get(file.identity))
      }
      sums.result.toSeq.map { case (identity, sum) => (files(identity), sum) }.sortBy(_._1.path)
    }
  )

  /** A file without its content, with what was asked for of it on all executors so far. */
  private def together(file: HeldFile, before: Option[HeldFile]): HeldFile = file.copy(
    leaves = Array.empty,
    leafBytes = Array.empty,
    chunks = Array.empty,
    chunksFound = file.chunksFound + before.fold(0L)(_.chunksFound),
    chunksAsked = file.chunksAsked + before.fold(0L)(_.chunksAsked)
  )

  /** @param part what part of its table the files are that it is held of */
  private final case class HeldColumn(table: String, column: String, sum: HeldSum, part: Double)

  private val columns = new SystemTable[HeldColumn](
    "columns",
    Seq[SystemColumn[HeldColumn]](
      SystemColumn("table", StringType, "the table, or a folder", _.table),
      SystemColumn("column", StringType, "top-level column", _.column)
    ) ++ sums[HeldColumn](_.sum, "the column", _.part),
    session => {
      val tables = new HeldTables
      val columns = new HeldSums(file => {
        val table = tables.nameOf(file)
        column => (table, column)
      })
      eachFile(session) { (executor, file) =>
        tables.add(executor, file)
        columns.add(executor, file)
      }
      val parts = tables.result.map { case (table, (files, _)) => table -> files.part }
      columns.result.toSeq.map { case ((table, column), sum) =>
        HeldColumn(table, column, sum, parts(table))
      }.sortBy(row => (row.table, row.column))
    }
  )

  /**
   * What is held of a table, by the executors that hold some.
   *
   * @param read what its scans have counted; nothing where none of them is remembered
   */
  private final case class HeldTable(
      table: String,
      files: HeldTables.Files,
      sum: HeldSum,
      read: Option[Figures],
      session: SparkSession) {
    def share(kind: Kind): String =
      QuotaRegistry.of(session.sparkContext).of(kind, files.onePath).fold[String](null)(_.text)
  }

  private val tables = new SystemTable[HeldTable](
    "tables",
    Seq[SystemColumn[HeldTable]](
      SystemColumn("table", StringType, "the table, or a folder", _.table),
      SystemColumn(
        "last_planned",
        TimestampType,
        "when this application planned last to read it",
        table => timestamp(table.files.lastPlanned)),
      SystemColumn(
        "hit_ratio",
        DoubleType,
        "part of the column chunks its scans asked for that were in a pool, from 0 to 1, as in " +
          "the tab",
        _.read.flatMap(read => Option(read.hitRatio)).orNull
      )
    ) ++ sums[HeldTable](_.sum, "the table", _.files.part) ++ Seq(
      bytesByColumn[HeldTable](_.sum),
      SystemColumn[HeldTable](
        "most_bytes",
        LongType,
        "bytes of pool on the executor that holds most of it",
        _.files.mostBytes),
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
      val tables = new HeldTables
      eachFile(session)(tables.add)
      tables.result.toSeq.map { case (table, (files, sum)) =>
        HeldTable(table, files, sum, read.get(table), session)
      }.sortBy(_.table)
    }
  )

  private def timestamp(millis: Option[Long]): java.sql.Timestamp =
    millis.map(new java.sql.Timestamp(_)).orNull

  private def bytesByColumn[A](sum: A => HeldSum): SystemColumn[A] = SystemColumn(
    "bytes_by_column",
    MapType(StringType, LongType),
    "bytes of pool for each top-level column",
    sum(_).bytesByColumn.toMap)

  /** @param part what part of the whole the files are */
  private def sums[A](
      sum: A => HeldSum,
      whole: String,
      part: A => Double = (_: A) => 1.0): Seq[SystemColumn[A]] = Seq(
    SystemColumn(
      "executors",
      IntegerType,
      "how many executors hold any of it; those that have one pool together count as one",
      sum(_).executors),
    SystemColumn("files", IntegerType, "of how many files", sum(_).files),
    SystemColumn(
      "chunks",
      LongType,
      "column chunks, each time a pool holds one",
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
      held => sum(held).share(part(held)))
  )

  /**
   * Calls with each executor and each file that it holds some of, as their answers arrive. Of
   * executors that have one pool together the first one that tells of a file has its chunks.
   */
  private def eachFile(session: SparkSession)(take: (String, HeldFile) => Unit): Unit = {
    val cluster = Cluster.of(session.sparkContext)
    val told = mutable.HashSet.empty[(String, (String, Long, Long, String))]
    // Not before the executors have told of their pools.
    lazy val sharedPools = cluster.status.snapshot().executors.asScala.map(_.report)
      .filter(_.isPoolShared).map(one => one.executor -> one.poolName).toMap
    cluster.eachPart(
      Patience,
      report => 1 + (report.figures.get(Figure.CHUNKS) / ChunksAtATime).toInt,
      PartsAtATime)(ListChunks(_)) { (executor, files) =>
      for (file <- files) {
        val isNew = sharedPools.get(executor).forall(pool => told.add(pool -> file.identity))
        take(executor, if (isNew) file else file.copy(chunks = Array.empty))
      }
    }: Unit
  }
}
