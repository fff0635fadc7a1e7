package io.oap.spark

import scala.util.Random

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * A random query of a random table: some columns or parts of columns, rows that pass a filter.
 * Filters take their values from the table's rows, so that they neither keep nor drop everything.
 */
final class RandomQuery(random: Random, table: RandomTable) {

  private val filter: Option[Column] = if (random.nextInt(5) == 0) None else Some(anyFilter(0))

  private val projection: Seq[Column] = random.nextInt(8) match {
    case 0 => Nil
    case 1 => Seq(col("*"))
    case _ => Seq.fill(1 + random.nextInt(4))(anyColumn())
  }

  private val isAggregate: Boolean = projection.isEmpty || random.nextInt(6) == 0

  def apply(data: DataFrame): DataFrame = {
    val kept = filter.fold(data)(data.filter)
    if (isAggregate) {
      kept.agg(count(lit(1)), (min("id") +: max("id") +: counted): _*)
    } else {
      kept.select(projection.zipWithIndex.map { case (column, i) =>
        if (column.toString == "*") column else column.as(s"p$i")
      }: _*)
    }
  }

  private def counted: Seq[Column] = projection.filter(_.toString != "*").map(count)

  override def toString: String =
    s"select ${projection.mkString(", ")} where ${filter.getOrElse("true")}, aggregate $isAggregate"

  private def oneOf[T](choices: T*): T = choices(random.nextInt(choices.size))

  private def anyColumn(): Column = {
    val field = oneOf(table.schema.fields.toSeq: _*)
    part(col(field.name), field.dataType)
  }

  /** The column, or something within it. */
  private def part(column: Column, dataType: DataType): Column =
    if (random.nextInt(3) == 0) column
    else dataType match {
      case StructType(fields) =>
        val field = oneOf(fields.toSeq: _*)
        part(column.getField(field.name), field.dataType)
      case ArrayType(StructType(fields), _) => column.getField(oneOf(fields.toSeq: _*).name)
      case ArrayType(element, _) =>
        oneOf(size(column), part(get(column, lit(0)), element))
      case MapType(_, value, _) =>
        val values = map_values(column)
        oneOf(map_keys(column), values, part(get(values, lit(0)), value))
      case _ => column
    }

  /** What a row has in this column. */
  private def anyValue(name: String): Any =
    table.rows(random.nextInt(table.rows.size)).get(table.schema.fieldIndex(name))

  private def anyFilter(depth: Int): Column = random.nextInt(if (depth < 2) 10 else 7) match {
    case 7 => anyFilter(depth + 1) && anyFilter(depth + 1)
    case 8 => anyFilter(depth + 1) || anyFilter(depth + 1)
    case 9 => !anyFilter(depth + 1)
    case 0 | 1 | 2 => sortedFilter()
    case _ => columnFilter(oneOf(table.columns: _*))
  }

  /** A range of an ascending column: what the page index can use. */
  private def sortedFilter(): Column = {
    val last = table.rows.size * 3L
    val low = random.nextLong(last)
    oneOf(
      col("id").between(low, low + random.nextLong(last / 4 + 1)),
      col("id") === low,
      col("id").isin(Seq.fill(12)(random.nextLong(last)): _*),
      col("id") + 1 > low,
      col("day") === anyValue("day"),
      !isIn(col("day"), table.schema("day")),
      col("day") < anyValue("day"),
      col("part") === oneOf("a", "b c", "none"),
      col("part").isNull
    )
  }

  private def columnFilter(field: StructField): Column = {
    val column = col(field.name)
    val value = anyValue(field.name)
    (value, field.dataType) match {
      case (null, _) => oneOf(column.isNull, column.isNotNull)
      case (_, StructType(fields)) =>
        val inner = oneOf(fields.toSeq: _*)
        oneOf(column.getField(inner.name).isNotNull, column.isNull)
      case (_, _: ArrayType | _: MapType) => oneOf(size(column) > 1, column.isNull)
      case (text: String, StringType) =>
        oneOf(ofStrings(column, text), compared(column, value, field))
      case _ => compared(column, value, field)
    }
  }

  /** Values of some rows, without nulls: with one in it, NOT IN is true of no row and is not pushed. */
  private def isIn(column: Column, field: StructField): Column = {
    val values = Seq.fill(3)(anyValue(field.name)).filter(_ != null)
    column.isin(values.map(lit(_).cast(field.dataType)): _*)
  }

  private def ofStrings(column: Column, text: String): Column = oneOf(
    column.startsWith(text.take(1)),
    column.endsWith(text.takeRight(1)),
    column.contains(text.take(2)),
    column.like("%a%"),
    length(column) > text.length)

  private def compared(column: Column, value: Any, field: StructField): Column = {
    val literal = lit(value).cast(field.dataType)
    oneOf(
      column === literal,
      column <=> literal,
      column =!= literal,
      column < literal,
      column >= literal,
      column.isin(literal, lit(null)),
      isIn(column, field),
      !isIn(column, field),
      column.isNotNull,
      pmod(hash(column), lit(3)) === 0
    )
  }
}
