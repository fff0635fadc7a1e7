package io.oap.spark

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSessionExtensions
import org.slf4j.LoggerFactory

import io.oap.spark.buildside.KeepBuildSides
import io.oap.spark.dataframe.DataFrames
import io.oap.spark.filescan.{CachedFileScans, UseFileJoinKeys}
import io.oap.spark.framescan.{KeysBelowShuffles, PrunedFrames, ReadFrames}
import io.oap.spark.iceberg.{CacheIcebergScans, UseIcebergJoinKeys}
import io.oap.spark.internals.{ConfigKeys, SparkInternals, SparkVersion}
import io.oap.spark.optimizer.{CacheHint, SubqueryPruning, UseColumnCache}
import io.oap.spark.sql.{CacheSelectParser, SystemCatalog, SystemRows}

/**
 * What `spark.sql.extensions=io.oap.spark.OapExtensions` adds to a session.
 *
 * Spark runs an optimizer's injected rules in this order:
 * {{{
 *   operator optimization (injectOptimizerRule)     columns pruned, filters pushed, plan settled
 *   pre-CBO rules (injectPreCBORule)                <-- UseColumnCache: V1 relation becomes V2; SystemRows
 *   early push-down                                 V2 scan is built: columns, filters, aggregates
 *   cost-based join reordering
 *   dynamic partition pruning                       join keys become runtime filters of the scan
 *   rules of users (extraOptimizations)             <-- KeysBelowShuffles: the same for cached DataFrames
 * }}}
 * When the plan is physical, [[SubqueryPruning]] adds runtime filters of its own, and
 * [[CacheIcebergScans]] and [[CachedFileScans]] have scans of Iceberg tables and V1 scans read through
 * the cache: in an adaptive plan before its first stage, so that EXPLAIN shows it, else with the
 * columnar rules. When a stage begins, [[ReadFrames]], [[UseIcebergJoinKeys]] and [[UseFileJoinKeys]]
 * give scans the keys of its broadcasts. [[KeepBuildSides]] comes last, with the columnar rules of each
 * stage.
 *
 * In another line of Spark than the jar was compiled for nothing is added, and the log says so.
 *
 * A value that is not allowed fails the start of the application, as one of Spark's own keys does:
 * it is a typing error that nobody would find in a log.
 *
 * The rule stands directly before early push-down: later the scan could not take part in it, and
 * earlier other rules would ask a V2 relation for statistics that it has only once it is a scan.
 */
class OapExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    OapExtensions.mismatch(SPARK_VERSION) match {
      case Some(why) => LoggerFactory.getLogger(classOf[OapExtensions]).warn(why)
      case None => add(extensions)
    }

  private def add(extensions: SparkSessionExtensions): Unit = {
    ConfigKeys.register()
    SparkInternals.activeContext().foreach { context =>
      val conf = SparkInternals.confOf(context)
      ConfigKeys.check(conf.getAll.toMap)
      // Sessions start from this configuration, and go back to it with RESET.
      conf.setIfMissing(SystemCatalog.Key, classOf[SystemCatalog].getName)
      DataFrames.install(conf)
      DriverRuntime.start(context)
    }
    extensions.injectParser((_, spark) => new CacheSelectParser(spark))
    extensions.injectHintResolutionRule(_ => CacheHint.Mark)
    extensions.injectPostHocResolutionRule(_ => CacheHint.Apply)
    extensions.injectPreCBORule { spark =>
      KeysBelowShuffles.addTo(spark)
      UseColumnCache(spark)
    }
    extensions.injectPreCBORule(_ => SystemRows)
    extensions.injectColumnar(_ => SubqueryPruning.Columnar)
    extensions.injectQueryStagePrepRule(_ => CacheIcebergScans)
    extensions.injectColumnar(_ => CacheIcebergScans.Columnar)
    extensions.injectQueryStagePrepRule(CachedFileScans(_))
    extensions.injectColumnar(CachedFileScans.Columnar(_))
    extensions.injectQueryStageOptimizerRule(_ => ReadFrames)
    extensions.injectQueryStageOptimizerRule(_ => UseIcebergJoinKeys)
    extensions.injectQueryStageOptimizerRule(_ => UseFileJoinKeys)
    extensions.injectColumnar(_ => PrunedFrames.Columnar)
    extensions.injectColumnar(_ => KeepBuildSides.Columnar)
  }
}

private[spark] object OapExtensions {

  /** Why this jar cannot be used with a version of Spark; none where it can. */
  def mismatch(version: String): Option[String] =
    if (version.startsWith(SparkVersion.LINE + ".")) None
    else
      Some(
        s"The jar of OAP is for Spark ${SparkVersion.LINE}, and this is Spark $version: queries run " +
          "without the cache. There is a jar for each line of Spark; its name says which.")
}
