package io.oap.spark.internals

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.internal.Logging

import io.oap.cache.pool.PoolOptions
import io.oap.common.{ConfigEntry, OapConfig}

/** Checks what users set under `spark.oap.`, on the driver. */
private[spark] object ConfigKeys extends Logging {
  private val entries: Map[String, ConfigEntry[_]] =
    OapConfig.ALL.asScala.map(entry => entry.key -> entry).toMap

  /** Unknown keys that were warned about; as many as people set. */
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** Makes all keys known to Spark, which from then on checks them where they are set. */
  def register(): Unit = synchronized {
    OapConfig.ALL.forEach(SparkInternals.register(_))
  }

  /**
   * Checks the settings an application starts with.
   *
   * @throws IllegalArgumentException naming a key, its value and what is allowed
   */
  def check(settings: Map[String, String]): Unit = {
    warnOfUnknown(settings)
    for (entry <- OapConfig.ALL.asScala; text <- settings.get(entry.key)) {
      SparkInternals.check(entry, text)
    }
    // Values that do not go with each other.
    PoolOptions.of(settings.get(_).orNull)
  }

  /** Warns of each key under our prefix that there is not, once in the life of this process. */
  def warnOfUnknown(settings: Map[String, String]): Unit =
    for {
      key <- settings.keys
      if key.startsWith(OapConfig.PREFIX) && !entries.contains(key) && warned.add(key)
    } logWarning(s"There is no configuration key $key; did you mean ${nearest(key)}?")

  /** The known key that takes the fewest changed letters. */
  def nearest(key: String): String =
    entries.keys.toSeq.sorted.minBy(LevenshteinDistance.getDefaultInstance.apply(_, key))
}
