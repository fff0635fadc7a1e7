package io.oap.spark.internals

import com.google.common.collect.MapMaker
import org.apache.spark.SparkContext

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
