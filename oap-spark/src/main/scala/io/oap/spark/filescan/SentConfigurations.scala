package io.oap.spark.filescan

import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.google.common.cache.CacheBuilder
import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.util.SerializableConfiguration

import io.oap.spark.internals.PerSparkContext

/**
 * Configurations of Hadoop on their way to tasks. Each property of one is compressed for itself, which takes
 * time on the driver, and on executors to read it. Most scans of a session say the same in theirs, so
 * the last ones stay. Thread-safe.
 */
private[filescan] final class SentConfigurations {
  private val sent = CacheBuilder.newBuilder()
    .concurrencyLevel(1) // else each part has a share of the size
    .maximumSize(SentConfigurations.Most)
    .expireAfterAccess(SentConfigurations.IdleMinutes, TimeUnit.MINUTES)
    .build[SentConfigurations.Said, Broadcast[SerializableConfiguration]]()

  private def of(
      conf: Configuration,
      leftOut: Set[String],
      context: SparkContext): Broadcast[SerializableConfiguration] = {
    val said = SentConfigurations.Said.of(conf, leftOut)
    // Two threads may both send one: none waits for another, whose query may be cancelled.
    Option(sent.getIfPresent(said)).getOrElse {
      val copy = new Configuration(conf)
      leftOut.foreach(copy.unset)
      val made = context.broadcast(new SerializableConfiguration(copy))
      Option(sent.asMap.putIfAbsent(said, made)).getOrElse(made)
    }
  }
}

private[filescan] object SentConfigurations {

  /** Each takes memory of the driver and of every executor that has used it. */
  private[filescan] val Most = 16

  private val IdleMinutes = 10L

  private val all = new PerSparkContext[SentConfigurations](_ => new SentConfigurations)

  /**
   * Broadcasts a copy of a configuration in this application, or gives what has been broadcast of one that
   * says the same.
   *
   * @param leftOut keys that are not sent
   */
  def broadcast(
      conf: Configuration,
      leftOut: Set[String],
      context: SparkContext): Broadcast[SerializableConfiguration] =
    all.of(context).of(conf, leftOut, context)

  /** What stays of an application. */
  private[filescan] def kept(context: SparkContext): Seq[Broadcast[SerializableConfiguration]] =
    all.of(context).sent.asMap.values.asScala.toSeq

  /**
   * What a configuration says.
   *
   * @param classes where it looks for the classes that it names: on the driver it is used as it is
   */
  private final case class Said(properties: Map[String, String], classes: ClassLoader)

  private object Said {
    def of(conf: Configuration, leftOut: Set[String]): Said = Said(
      conf.asScala.iterator.collect {
        case property if !leftOut.contains(property.getKey) => property.getKey -> property.getValue
      }.toMap,
      conf.getClassLoader)
  }
}
