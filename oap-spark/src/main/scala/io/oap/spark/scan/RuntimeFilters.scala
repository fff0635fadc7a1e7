package io.oap.spark.scan

import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.expressions.{Expression, InSet}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.{RebaseDateTime, TypeUtils}
import org.apache.spark.sql.connector.expressions.{Expression => Operand, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._

import io.oap.spark.filter.RowFilter
import io.oap.spark.internals.SparkInternals

/**
 * The join keys that Spark hands to a scan when it plans it, as IN predicates: those on partition
 * columns drop files, those on data columns drop row groups and rows.
 *
 * @param predicates as Spark hands them over; others than IN drop nothing
 */
private[spark] final class RuntimeFilters(
    predicates: Seq[Predicate],
    dataSchema: StructType,
    partitionSchema: StructType,
    resolver: Resolver) {

  import RuntimeFilters.In

  private val ins: Seq[(String, Seq[Literal[_]])] = predicates.collect { case In(name, values) =>
    name -> values
  }

  /** Whether there is a predicate that no row meets. */
  def matchNothing: Boolean = ins.exists { case (_, values) => values.forall(_.value() == null) }

  /** Gives the predicates on partition columns, as the expressions that file listing takes. */
  def onPartitions: Seq[Expression] = for {
    (name, values) <- ins
    column <- toAttributes(partitionSchema).find(a => resolver(a.name, name))
  } yield InSet(column, values.map(_.value()).toSet[Any])

  private val onData: Seq[(StructField, Predicate)] = for {
    predicate @ In(name, _) <- predicates
    field <- dataSchema.find(f => resolver(f.name, name))
  } yield field -> predicate

  def isOnData: Boolean = onData.nonEmpty

  /** Predicates on data columns, as conditions on rows. */
  val rows: Seq[RowFilter] = for {
    (field, In(_, values)) <- onData
    filter <- RowFilter.oneOf(field.name, field.dataType, values.map(_.value()))
  } yield filter

  /**
   * Gives the predicates on data columns as filters on the statistics of row groups. None on decimals: Parquet's
   * filters cut a key to as many bytes as the file has, which may be fewer than the table says. None
   * on timestamps: several of a file in the old calendar may be one to Spark.
   */
  def rowGroups: Array[Filter] = FilterValues.inEveryZone {
    onData
      .filterNot { case (field, _) =>
        field.dataType match {
          case _: DecimalType | TimestampType | TimestampNTZType => true
          case _ => false
        }
      }
      .flatMap { case (_, predicate) => bounded(predicate) }
      .filter(_.children().forall(RuntimeFilters.isExact))
      .flatMap(SparkInternals.toFilter(_))
      .toArray
  }

  /** Row groups are ruled out by minimum and maximum: of many keys only the ends matter. */
  private def bounded(predicate: Predicate): Seq[Predicate] = predicate match {
    case In(_, values) if values.size > RuntimeFilters.MaxKeysSent =>
      val column = predicate.children().head
      val ordering = TypeUtils.getInterpretedOrdering(values.head.dataType())
      val keys = values.filter(_.value() != null)
      Seq(
        new Predicate(">=", Array(column, keys.minBy[Any](_.value())(ordering))),
        new Predicate("<=", Array(column, keys.maxBy[Any](_.value())(ordering))))
    case other => Seq(other)
  }
}

private[spark] object RuntimeFilters {

  /** Join keys that go to the tasks one by one. */
  private val MaxKeysSent = 1000

  /**
   * Whether what is compared with a file's minimum and maximum is this key. Filters hold strings as
   * Java does: no bytes that are not UTF-8. And of a file in the old calendar, two days before the
   * change may be one to Spark.
   */
  private def isExact(operand: Operand): Boolean = operand match {
    case literal: Literal[_] =>
      (literal.value(), literal.dataType()) match {
        case (day: Int, DateType) if day < RebaseDateTime.lastSwitchJulianDay => false
        case (value, dataType) =>
          val told = CatalystTypeConverters.convertToScala(value, dataType)
          CatalystTypeConverters.convertToCatalyst(told) == value
      }
    case _ => true
  }

  private object In {
    def unapply(predicate: Predicate): Option[(String, Seq[Literal[_]])] =
      predicate.children().toSeq match {
        case (column: NamedReference) +: values
            if predicate.name() == "IN" && column.fieldNames().length == 1 =>
          val literals = values.collect { case literal: Literal[_] => literal }
          if (literals.size == values.size) Some(column.fieldNames().head -> literals) else None
        case _ => None
      }
  }
}
