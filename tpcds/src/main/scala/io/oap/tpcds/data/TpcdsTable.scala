package io.oap.tpcds.data

import java.math.{BigDecimal => JBigDecimal}
import java.sql.Date

import scala.jdk.CollectionConverters._

import io.trino.tpcds.{Results, Session, Table}
import io.trino.tpcds.column.{Column, ColumnType}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{
  DataType,
  DateType,
  DecimalType,
  IntegerType,
  StringType,
  StructField,
  StructType
}

/**
 * One of the 24 TPC-DS tables: its columns and its rows.
 *
 * The types are those with which Spark's own TPC-DS tests declare the tables (`TPCDSSchema` in the
 * tests jar of spark-sql): keys are INT, money is DECIMAL, texts are CHAR(n) and VARCHAR(n). In
 * Parquet both texts are strings, CHAR(n) filled up with spaces as SQL stores it.
 */
final case class TpcdsTable private (table: Table) {
  import TpcdsTable._

  val name: String = table.getName

  private val columns: Seq[Column] = table.getColumns.toSeq

  /** The column by which a partitioned copy of this table is laid out, if there is such a copy. */
  val partitionColumn: Option[String] = PartitionColumns.get(name)

  val columnNames: Seq[String] = columns.map(columnName)

  /** Columns whose texts are filled up with spaces. */
  val paddedColumns: Set[String] =
    columns.filter(_.getType.getBase == ColumnType.Base.CHAR).map(columnName).toSet

  /** What CREATE TABLE says in parentheses, with SQL types. */
  val ddl: String =
    columns.map(c => s"${columnName(c)} ${sqlType(c)}").mkString(", ")

  /** Types as written to Parquet. */
  val fileSchema: StructType =
    StructType(columns.map(c => StructField(columnName(c), fileType(c.getType))))

  private val readers: Array[String => Any] = columns.map(c => valueReader(c.getType)).toArray

  /**
   * Rows of TPC-DS at a scale, where the specification (version 2, table 3-2) or the generator's
   * scaling says how many. None for sales and returns at other scales: an order has a random
   * number of lines.
   */
  def expectedRows(scale: Double): Option[Long] =
    if (!LinesPerUnit.contains(name)) Some(units(scale)) else SpecifiedRows.get((name, scale))

  /**
   * How many chunks the table is generated in, each one task and one file. It never depends on the
   * machine, so that the same files come out everywhere.
   *
   * @param chunkRows rows of a chunk, about
   */
  def chunks(scale: Double, chunkRows: Long): Int = {
    val lines = units(scale) * LinesPerUnit.getOrElse(name, 1)
    if (table.keepsHistory()) 1 else math.max(1, math.ceil(lines / chunkRows.toDouble).toInt)
  }

  /**
   * The rows of one chunk, in the types of `fileSchema`. Chunk after chunk gives the same rows as
   * a single chunk.
   *
   * @param chunk from 0 until `chunks`
   */
  def rows(scale: Double, chunk: Int, chunks: Int): Iterator[Row] = {
    require(chunks == 1 || !table.keepsHistory(), s"$name depends on its previous rows")
    // The library counts in units: a row of most tables, an order of sales and returns. Its own
    // division into chunks begins at a million units; ours has to split smaller tables, too.
    val total = BigInt(units(scale))
    val first = (total * chunk / chunks).toLong + 1
    val last = (total * (chunk + 1) / chunks).toLong
    val session = Session.getDefaultSession.withScale(scale).withTable(table)
    if (last < first) Iterator.empty
    else Results.constructResults(table, first, last, session).iterator().asScala.map(toRow)
  }

  private def units(scale: Double): Long =
    Session.getDefaultSession.withScale(scale).getScaling.getRowCount(table)

  private def toRow(lines: java.util.List[java.util.List[String]]): Row = {
    val texts = lines.get(0)
    val values = new Array[Any](readers.length)
    var i = 0
    while (i < values.length) {
      val text = texts.get(i)
      values(i) = if (text == null) null else readers(i)(text)
      i += 1
    }
    Row.fromSeq(values.toSeq)
  }
}

object TpcdsTable {

  private val PartitionColumns = Map(
    "store_sales" -> "ss_sold_date_sk",
    "store_returns" -> "sr_returned_date_sk",
    "catalog_sales" -> "cs_sold_date_sk",
    "catalog_returns" -> "cr_returned_date_sk",
    "web_sales" -> "ws_sold_date_sk",
    "web_returns" -> "wr_returned_date_sk",
    "inventory" -> "inv_date_sk"
  )

  // Mean number of rows per unit of the library, an order. A return is as much work as its order.
  private val LinesPerUnit = Map(
    "store_sales" -> 12,
    "catalog_sales" -> 9,
    "web_sales" -> 12,
    "store_returns" -> 1,
    "catalog_returns" -> 1,
    "web_returns" -> 1)

  // Names that the library misspells or that differ from the specification's.
  private val CorrectedNames = Map(
    "c_last_review_date_sk" -> "c_last_review_date",
    "p_response_targe" -> "p_response_target",
    "s_tax_precentage" -> "s_tax_percentage")

  private val SpecifiedRows: Map[(String, Double), Long] = Map(
    ("store_sales", 1.0) -> 2880404L,
    ("store_returns", 1.0) -> 287514L,
    ("catalog_sales", 1.0) -> 1441548L,
    ("catalog_returns", 1.0) -> 144067L,
    ("web_sales", 1.0) -> 719384L,
    ("web_returns", 1.0) -> 71763L,
    ("store_sales", 10.0) -> 28800991L,
    ("store_returns", 10.0) -> 2875432L,
    ("catalog_sales", 10.0) -> 14401261L,
    ("catalog_returns", 10.0) -> 1439749L,
    ("web_sales", 10.0) -> 7197566L,
    ("web_returns", 10.0) -> 719217L,
    ("store_sales", 100.0) -> 287997024L,
    ("store_returns", 100.0) -> 28795080L,
    ("catalog_sales", 100.0) -> 143997065L,
    ("catalog_returns", 100.0) -> 14404374L,
    ("web_sales", 100.0) -> 72001237L,
    ("web_returns", 100.0) -> 7197670L,
    ("store_sales", 1000.0) -> 2879987999L,
    ("store_returns", 1000.0) -> 287999764L,
    ("catalog_sales", 1000.0) -> 1439980416L,
    ("catalog_returns", 1000.0) -> 143996756L,
    ("web_sales", 1000.0) -> 720000376L,
    ("web_returns", 1000.0) -> 71997522L,
    ("store_sales", 3000.0) -> 8639936081L,
    ("store_returns", 3000.0) -> 863989652L,
    ("catalog_sales", 3000.0) -> 4320078880L,
    ("catalog_returns", 3000.0) -> 432018033L,
    ("web_sales", 3000.0) -> 2159968881L,
    ("web_returns", 3000.0) -> 216003761L,
    ("store_sales", 10000.0) -> 28799983563L,
    ("store_returns", 10000.0) -> 2879970104L,
    ("catalog_sales", 10000.0) -> 14399964710L,
    ("catalog_returns", 10000.0) -> 1440033112L,
    ("web_sales", 10000.0) -> 7199963324L,
    ("web_returns", 10000.0) -> 720020485L
  )

  /**
   * All 24, by name. The 25th of the library records how it was called.
   * Stands after what it is made from.
   */
  val All: Seq[TpcdsTable] =
    Table.getBaseTables.asScala.toSeq.filter(_ != Table.DBGEN_VERSION).map(TpcdsTable(_))

  private def columnName(column: Column): String =
    CorrectedNames.getOrElse(column.getName, column.getName)

  private def sqlType(column: Column): String = column.getType.getBase match {
    // Spark's tests declare this one shorter than the library does.
    case _ if column.getName == "w_street_name" => "VARCHAR(20)"
    case ColumnType.Base.CHAR => s"CHAR(${column.getType.getPrecision.get})"
    case ColumnType.Base.VARCHAR => s"VARCHAR(${column.getType.getPrecision.get})"
    case _ => fileType(column.getType).sql
  }

  private def fileType(columnType: ColumnType): DataType = columnType.getBase match {
    case ColumnType.Base.INTEGER | ColumnType.Base.IDENTIFIER => IntegerType
    case ColumnType.Base.DATE => DateType
    case ColumnType.Base.DECIMAL =>
      DecimalType(columnType.getPrecision.get, columnType.getScale.get)
    case ColumnType.Base.CHAR | ColumnType.Base.VARCHAR => StringType
    case other => throw new IllegalArgumentException(s"no TPC-DS table has the type $other")
  }

  private def valueReader(columnType: ColumnType): String => Any = fileType(columnType) match {
    case IntegerType => (text: String) => text.toInt
    case DateType => (text: String) => Date.valueOf(text)
    case _: DecimalType => (text: String) => new JBigDecimal(text)
    case _ if columnType.getBase == ColumnType.Base.CHAR =>
      val width = columnType.getPrecision.get
      (text: String) => text.padTo(width, ' ')
    case _ => identity
  }
}
