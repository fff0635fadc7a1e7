package io.oap.spark.optimizer

import scala.jdk.CollectionConverters._

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  Literal,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.oap.spark.table.TableSelector

/**
 * A relation to which a hint gives the option `oap.cache.hint`, from the hint's resolution until
 * the relation is resolved.
 *
 * @param word on, off or pinned
 */
private final case class HintedRelation(child: LogicalPlan, word: String)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan =
    copy(child = newChild)
}

/**
 * The hint `OAP_CACHE(off)`, or `on` or `pinned`: what the reader's option `oap.cache` says, for all
 * relations of a query, those of its subqueries and views among them. An option that a relation has
 * already counts more, and so does a hint in a subquery. Other words are warned about, as Spark does
 * it with hints that it does not know.
 */
private[spark] object CacheHint extends Logging {
  val Name = "OAP_CACHE"

  /** Marks the relations that a hint is about; one of the rules by which hints are resolved. */
  object Mark extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
      case UnresolvedHint(name, parameters, child) if name.equalsIgnoreCase(Name) =>
        word(parameters) match {
          case Some(word) => marked(child, word)
          case None =>
            val words = parameters.map(text).mkString(", ")
            logWarning(s"The hint $Name takes one word, on, off or pinned; '$words' is ignored.")
            child
        }
    }
  }

  /** Gives resolved relations the option that they were marked for; after all other resolution. */
  object Apply extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
      case HintedRelation(child, word) => marked(child, word)
    }
  }

  private def word(parameters: Seq[Any]): Option[String] =
    Some(parameters.map(text)).collect { case Seq(one) if TableSelector.isWord(one) => one }

  private def text(parameter: Any): String = parameter match {
    case UnresolvedAttribute(parts) => parts.mkString(".")
    case Literal(value, _) => String.valueOf(value)
    case expression: Expression => expression.sql
    case other => String.valueOf(other)
  }

  private def marked(plan: LogicalPlan, word: String): LogicalPlan = plan match {
    case hinted: HintedRelation => hinted
    case relation: UnresolvedRelation => HintedRelation(relation, word)
    case relation @ LogicalRelation(files: HadoopFsRelation, _, table, _, _)
        if TableSelector.ofReader(table, files.options).isEmpty =>
      val options = files.options + (TableSelector.HintKey -> word)
      relation.copy(relation = files.copy(options = options)(files.sparkSession))
    case relation: DataSourceV2Relation
        if TableSelector.ofReader(None, relation.options.asScala.toMap).isEmpty =>
      val options = relation.options.asScala.toMap + (TableSelector.HintKey -> word)
      relation.copy(options = new CaseInsensitiveStringMap(options.asJava))
    case other =>
      other.mapChildren(marked(_, word)).transformExpressions {
        case subquery: SubqueryExpression => subquery.withNewPlan(marked(subquery.plan, word))
      }
  }
}
