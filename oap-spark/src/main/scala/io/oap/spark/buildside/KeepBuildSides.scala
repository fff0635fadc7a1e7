package io.oap.spark.buildside

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.IN_SUBQUERY_EXEC
import org.apache.spark.sql.execution.{
  ColumnarRule,
  InSubqueryExec,
  SparkPlan,
  SubqueryBroadcastExec
}
import org.apache.spark.sql.execution.exchange.{
  BroadcastExchangeExec,
  ENSURE_REQUIREMENTS,
  Exchange,
  ShuffleExchangeExec
}

import io.oap.common.OapConfig
import io.oap.spark.internals.SparkInternals

/**
 * Has broadcasts of cached tables kept from query to query, and shuffles of one cached table.
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
    def unapply(plan: SparkPlan): Option[Exchange] = plan match {
      case BroadcastExchangeExec(mode, child)
          if OapConfig.BUILDSIDES_MAX_SIZE.get(text(_)) > 0 && PlanShape.isSettled(mode) &&
            isServed(child, _ => true) =>
        Some(KeptBroadcastExec(mode, child))
      // What is below a join may hold on to broadcasts, which nobody would count. A partitioning that a
      // user asks for is rarely one that another query has, too.
      case ShuffleExchangeExec(partitioning, child, ENSURE_REQUIREMENTS, None)
          if PlanShape.isSettled(partitioning) && areShufflesKept(child) &&
            isServed(child, _.isOfOneScan) =>
        Some(KeptShuffleExec(partitioning, child))
      case _ => None
    }

    private def isServed(child: SparkPlan, fits: PlanShape => Boolean) =
      PlanShape.of(child.canonicalized).exists(fits) && !PlanShape.needsMetadata(child)

    /**
     * Not where executors come and go and take their files with them: one with files would not be let
     * go. Nor where files that are written again cannot be told from the first ones.
     */
    private def areShufflesKept(plan: SparkPlan) =
      OapConfig.BUILDSIDES_MAX_SHUFFLE_SIZE.get(text(_)) > BuildSides.ShuffleBytes && {
        val conf = SparkInternals.confOf(plan.session.sparkContext)
        def isOn(key: String) = conf.getBoolean(key, false)
        !(SparkInternals.isAllocatedDynamically(conf) && !isOn("spark.shuffle.service.enabled")) &&
        !isOn("spark.shuffle.useOldFetchProtocol")
      }
  }

  private def isWanted: Boolean =
    OapConfig.CACHE_ENABLED.get(text(_)) && OapConfig.BUILDSIDES_ENABLED.get(text(_))

  private def text(key: String) = conf.getConfString(key, null)

  /** A stream may allow only operators that it knows. Without a session nothing can be told. */
  private def isStreaming(plan: SparkPlan): Boolean =
    plan.session == null || plan.session.sparkContext.getLocalProperty(StreamKey) != null
}
