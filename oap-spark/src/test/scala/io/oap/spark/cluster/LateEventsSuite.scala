package io.oap.spark.cluster

import java.util.{Collections, Map => JavaMap}
import java.util.concurrent.CountDownLatch

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.scheduler.{SparkListener, SparkListenerResourceProfileAdded}

import io.oap.spark.CacheSuite
import io.oap.spark.internals.SparkInternals

/** An application whose status has not heard of its executor yet when the first query comes. */
class LateEventsSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.plugins" -> classOf[StandingStatus].getName)

  override protected def afterAll(): Unit = {
    StandingStatus.goOn.countDown()
    super.afterAll()
  }

  test("a local executor is there before Spark's status knows it") {
    val context = spark.sparkContext
    assert(context.statusTracker.getExecutorInfos.isEmpty, "the status has to stand still")
    assert(Cluster.of(context).directory.executorIds === Set("driver"))
    val answers = spark.sql("CALL oap.system.clear()").collect()
    assert(answers.map(_.getString(0)).toSeq === Seq("driver"))
  }
}

/** Keeps the listeners of Spark's status from getting any event but the first. */
private final class StandingStatus extends SparkPlugin {

  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(context: SparkContext, plugin: PluginContext): JavaMap[String, String] = {
      SparkInternals.addStatusListener(
        context,
        new SparkListener {
          override def onResourceProfileAdded(event: SparkListenerResourceProfileAdded): Unit =
            StandingStatus.goOn.await()
        }
      )
      Collections.emptyMap()
    }
  }

  override def executorPlugin(): ExecutorPlugin = null
}

private object StandingStatus {
  val goOn = new CountDownLatch(1)
}
