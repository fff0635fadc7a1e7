package io.oap.spark.buildside

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.IN_SUBQUERY_EXEC
import org.apache.spark.sql.execution.{
  ColumnarRule,
  InSubqueryExec,
  SparkPlan,
  SubqueryBroadcastExec
}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec

import io.oap.common.OapConfig

/**
 * Has broadcasts of cached tables kept from query to query.
 *
 * A columnar rule sees every exchange: in a plan that is not adaptive all of them, in an adaptive one
 * each as the root of its stage, with all that the stages before have settled below it. It runs
 * after transitions, when nobody changes exchanges any more.
 */
private[spark] object KeepBuildSides extends Rule[SparkPlan] {

  /** Set while a thread runs a micro-batch of a stream. */
  private val StreamKey = "sql.streaming.queryId"

  /** As what a session takes it. */
  object Columnar extends ColumnarRule {
    override def postColumnarTransitions: Rule[SparkPlan] = KeepBuildSides
  }

  override def apply(plan: SparkPlan): SparkPlan =
    if (isWanted && !isStreaming(plan)) plan.transformUp { case part => kept(part) } else plan

  private def kept(plan: SparkPlan): SparkPlan = plan match {
    case Kept(exchange) => exchange
    // In a plan that is not adaptive, dynamic pruning has an exchange of its own until exchanges are
    // reused, and the first one that Spark then meets is the one that stays.
    case other => other.transformExpressionsWithPruning(_.containsPattern(IN_SUBQUERY_EXEC)) {
        case keys: InSubqueryExec => keys.plan match {
            case dynamic @ SubqueryBroadcastExec(_, _, _, Kept(exchange)) =>
              keys.withNewPlan(dynamic.copy(child = exchange))
            case _ => keys
          }
      }
  }

  private object Kept {
    def unapply(plan: SparkPlan): Option[KeptBroadcastExec] = plan match {
      case BroadcastExchangeExec(mode, child)
          if PlanShape.isSettled(mode) && PlanShape.of(child.canonicalized).isDefined &&
            !PlanShape.needsMetadata(child) =>
        Some(KeptBroadcastExec(mode, child))
      case _ => None
    }
  }

  private def isWanted: Boolean = {
    def text(key: String) = conf.getConfString(key, null)
    OapConfig.CACHE_ENABLED.get(text(_)) && OapConfig.BUILDSIDES_ENABLED.get(text(_)) &&
    OapConfig.BUILDSIDES_MAX_SIZE.get(text(_)) > 0
  }

  /** A stream may allow only operators that it knows. Without a session nothing can be told. */
  private def isStreaming(plan: SparkPlan): Boolean =
    plan.session == null || plan.session.sparkContext.getLocalProperty(StreamKey) != null
}
