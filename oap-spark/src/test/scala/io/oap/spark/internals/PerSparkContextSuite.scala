package io.oap.spark.internals

import java.lang.ref.WeakReference

import org.apache.spark.{HashPartitioner, ShuffleDependency, SparkConf, SparkContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.spark.buildside.{BuildSideKey, BuildSides, PlanShape, ShuffledSide}
import io.oap.spark.cluster.Cluster
import io.oap.spark.status.CacheStatus
import io.oap.spark.table.{PinnedTables, QuotaRegistry}

/** What is known of an application goes with it. */
class PerSparkContextSuite extends AnyFunSuite with Eventually {

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  private def endedApplication(settings: Seq[(String, String)]): WeakReference[SparkContext] = {
    val context = new SparkContext(
      new SparkConf().setMaster("local[1]").setAppName("ended").set("spark.ui.enabled", "false")
        .setAll(settings))
    Cluster.of(context)
    CacheStatus.of(context)
    PinnedTables.of(context)
    QuotaRegistry.of(context)
    val kept = shuffle(context)
    def keep(n: Int): Unit = BuildSides.of(context).shuffles.keep(
      BuildSideKey(PlanShape(Seq(n), Nil), HashPartitioning(Nil, 1), Nil, Map.empty),
      ShuffledSide(kept, java.util.List.of(), null, 0, 0, 0))
    keep(1)
    context.stop()
    keep(2)
    new WeakReference(context)
  }

  /** It refers to the context. */
  private def shuffle(context: SparkContext) =
    new ShuffleDependency[Int, InternalRow, InternalRow](
      context.parallelize(Seq.empty[(Int, InternalRow)]),
      new HashPartitioner(1))

  private def assertLetGo(settings: (String, String)*): Unit = {
    val ended = endedApplication(settings)
    eventually {
      System.gc()
      assert(ended.get === null)
    }
  }

  test("a context that has stopped is let go")(assertLetGo())

  test("so is one whose dynamic allocation keeps executors") {
    assertLetGo(
      "spark.oap.cache.keepExecutors" -> "1h",
      "spark.dynamicAllocation.enabled" -> "true",
      // Or Spark would not have it in local mode.
      "spark.dynamicAllocation.testing" -> "true"
    )
  }
}
