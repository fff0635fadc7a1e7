package io.oap.spark.sql

import java.util.regex.Pattern

import org.apache.spark.sql.{classic, Row, SparkSession}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Spark's parser, with one statement more: `CACHE SELECT columns FROM table [WHERE condition]`. All
 * other text goes to Spark's parser as it is.
 */
private[spark] final class CacheSelectParser(spark: ParserInterface) extends ParserInterface {

  override def parsePlan(text: String): LogicalPlan =
    CacheSelectParser.query(text).fold(spark.parsePlan(text))(query =>
      CacheSelectParser.command(spark.parsePlan(query)))

  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan =
    CacheSelectParser.query(text).fold(spark.parsePlanWithParameters(text, parameters))(query =>
      CacheSelectParser.command(spark.parsePlanWithParameters(query, parameters)))

  override def parseExpression(text: String): Expression = spark.parseExpression(text)

  override def parseTableIdentifier(text: String): TableIdentifier =
    spark.parseTableIdentifier(text)

  override def parseFunctionIdentifier(text: String): FunctionIdentifier =
    spark.parseFunctionIdentifier(text)

  override def parseMultipartIdentifier(text: String): Seq[String] =
    spark.parseMultipartIdentifier(text)

  override def parseQuery(text: String): LogicalPlan = spark.parseQuery(text)

  override def parseRoutineParam(text: String): StructType = spark.parseRoutineParam(text)

  override def parseTableSchema(text: String): StructType = spark.parseTableSchema(text)

  override def parseDataType(text: String): DataType = spark.parseDataType(text)
}

private[spark] object CacheSelectParser {

  /** The word CACHE before SELECT, with white space and comments around it. */
  private val CacheBeforeSelect = {
    val gap = """(?:\s++|--[^\n]*+(?:\n|$)|/\*(?!\+)(?s:.*?)\*/)"""
    Pattern.compile(s"($gap*+)(CACHE)$gap++SELECT\\b", Pattern.CASE_INSENSITIVE)
  }

  /** The query of such a statement, at the same place in the text, so that errors point there. */
  def query(text: String): Option[String] = {
    val found = CacheBeforeSelect.matcher(text)
    if (found.lookingAt()) {
      Some(text.substring(0, found.start(2)) + " " * (found.end(2) - found.start(2)) +
        text.substring(found.end(2)))
    } else {
      None
    }
  }

  /** @throws org.apache.spark.sql.AnalysisException when it is not of one table */
  def command(query: LogicalPlan): CacheSelectCommand = {
    val table = query match {
      case Project(_, Filter(_, source)) => tableOf(source)
      case Project(_, source) => tableOf(source)
      case _ => None
    }
    if (table.isEmpty || query.exists(_.expressions.exists(SubqueryExpression.hasSubquery(_)))) {
      throw StatusException.unsupportedCacheSelect()
    }
    CacheSelectCommand(table.get, query)
  }

  private def tableOf(source: LogicalPlan): Option[String] = source match {
    case SubqueryAlias(_, table) => tableOf(table)
    case UnresolvedRelation(name, _, false) => Some(name.mkString("."))
    case _ => None
  }
}

/**
 * `CACHE SELECT`: the same as `CALL oap.system.warm`.
 *
 * @param query as it was parsed
 */
private[spark] final case class CacheSelectCommand(table: String, query: LogicalPlan)
    extends LeafRunnableCommand {

  override val output: Seq[Attribute] = Warming.columns.map(column =>
    AttributeReference(column.name, column.dataType)())

  override def run(session: SparkSession): Seq[Row] = {
    Access.requireModify("CACHE SELECT")
    val state = session.asInstanceOf[classic.SparkSession].sessionState
    val warmed = Warming.run(session, table, state.executePlan(query))
    warmed.map(one => Row.fromSeq(Warming.columns.map(_.value(one))))
  }
}
