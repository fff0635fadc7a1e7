package io.oap.spark.internals

import com.google.common.collect.MapMaker
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListener

/**
 * Something that each Spark application has one of, on its driver, for as long as its context is
 * reachable. Thread-safe.
 *
 * @param make makes that of an application; called at most once for each, and for one at a time
 */
private[spark] final class PerSparkContext[A <: AnyRef](make: SparkContext => A) {
  private val all = new MapMaker().weakKeys().makeMap[SparkContext, A]()

  /** Returns the one of this application; it is made at the first call. */
  def of(context: SparkContext): A = {
    val known = all.get(context)
    if (known != null) known else synchronized(all.computeIfAbsent(context, make(_)))
  }
}

private[spark] object PerSparkContext {

  /** Adds a listener to an application; a context that has stopped takes none. */
  def listen(context: SparkContext)(listener: SparkListener): Unit =
    if (!context.isStopped) context.addSparkListener(listener)
}
