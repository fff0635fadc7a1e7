package io.oap.spark.sql

import java.util.{EnumSet, Set => JavaSet}

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A column of a system table: name, type, meaning, and how a record gives its value.
 *
 * @param value null where there is none; else of the Scala type that a Row holds for the type
 */
private[spark] final case class SystemColumn[A](
    name: String,
    dataType: DataType,
    comment: String,
    value: A => Any)

/**
 * A table of `oap.system`: its columns and where its records come from. The rows are those of the
 * moment in which a query on it is planned. To read them asks Spark's right to view the application.
 */
private[spark] final class SystemTable[A](
    tableName: String,
    columnsOfRecord: Seq[SystemColumn[A]],
    records: SparkSession => Seq[A])
    extends Table
    with SupportsRead {

  override def name(): String = s"${SystemCatalog.Name}.${SystemCatalog.Namespace}.$tableName"

  def shortName: String = tableName

  override def columns(): Array[Column] = columnsOfRecord
    .map(column => Column.create(column.name, column.dataType, true, column.comment, null))
    .toArray

  override def capabilities(): JavaSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)

  /** Not called while [[SystemRows]] is among the optimizer's rules. */
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    () => rows(columnsOfRecord.map(_.name))

  /** The rows of this moment, with columns of these names. */
  private[sql] def rows(wanted: Seq[String]): LocalRows = {
    Access.requireView(name())
    LocalRows.of(
      name(),
      wanted.map(column => columnsOfRecord.find(_.name == column).get),
      () => records(SparkSession.active))
  }
}

/**
 * Puts the rows of system tables into the plan, so that Spark works out columns, filters and limits
 * of them while it plans: that takes no task, and so no free slot.
 */
private[spark] object SystemRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case part @ PhysicalOperation(columns, filters, SystemRelation(relation, table)) =>
      val used = AttributeSet((columns ++ filters).flatMap(_.references))
      val output = relation.output.filter(used.contains)
      val rows = table.rows(output.map(_.name)).rows()
      part.transform { case `relation` => LocalRelation(output, rows.toSeq) }
  }

  private object SystemRelation {
    def unapply(plan: LogicalPlan): Option[(DataSourceV2Relation, SystemTable[_])] = plan match {
      case relation: DataSourceV2Relation =>
        Some(relation.table).collect { case table: SystemTable[_] => (relation, table) }
      case _ => None
    }
  }
}

/** Rows that the driver has, as the scan of a table or the result of a procedure. */
private final case class LocalRows(
    override val description: String,
    readSchema: StructType,
    content: () => Seq[Row])
    extends LocalScan {

  override def rows(): Array[InternalRow] = {
    val convert = CatalystTypeConverters.createToCatalystConverter(readSchema)
    content().map(convert(_).asInstanceOf[InternalRow]).toArray
  }
}

private object LocalRows {

  /** @param records called when the rows are asked for */
  def of[A](
      description: String,
      columns: Seq[SystemColumn[A]],
      records: () => Seq[A]): LocalRows =
    LocalRows(
      description,
      StructType(columns.map { column =>
        StructField(column.name, column.dataType).withComment(column.comment)
      }),
      () => records().map(record => Row.fromSeq(columns.map(_.value(record))))
    )
}
