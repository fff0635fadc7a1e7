package io.oap.spark.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.sources.Filter

import io.oap.spark.filter.RowFilter
import io.oap.spark.internals.SparkInternals

/**
 * What the filters right above a scan ask of its data columns: rows that do not meet it are dropped
 * there, before anything else sees them, so that the scan need not give them.
 *
 * @param columns the columns that the scan reads from files, in the order of its schema
 * @param conditions on nothing but these, all of them to be met
 */
private[spark] final case class FiltersAbove(
    columns: Seq[Attribute],
    conditions: Seq[Expression]) {

  /** The conditions on rows, with the columns called as in the schema that is read. */
  def rows(names: Seq[String]): Seq[RowFilter] = RowFilter.of(named(names))

  /**
   * The conditions as filters on the statistics of row groups. What lies in a column is left out:
   * only the columns are told by the names that they have in files.
   */
  def rowGroups(names: Seq[String]): Seq[Filter] = FilterValues.inEveryZone {
    named(names).filterNot(_.exists(_.isInstanceOf[ExtractValue]))
      .flatMap(SparkInternals.toFilter(_: Expression))
  }

  private def named(names: Seq[String]): Seq[Expression] = {
    val called = columns.map(_.exprId).zip(names).toMap
    conditions.map(_.transform { case a: Attribute => a.withName(called(a.exprId)) })
  }
}

private[spark] object FiltersAbove {

  /**
   * Takes the conditions that are on columns of files alone.
   *
   * @param above conditions of the filters between a scan and what else there is of the plan
   */
  def of(columns: Seq[Attribute], above: Seq[Expression]): FiltersAbove = {
    val data = AttributeSet(columns)
    FiltersAbove(
      columns,
      above.filter(one => one.references.nonEmpty && one.references.subsetOf(data)))
  }
}
