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

  /** Broadcasts a copy of a configuration, or gives what has been broadcast of one that says the same. */
  def of(conf: Configuration, context: SparkContext): Broadcast[SerializableConfiguration] = {
    val said = SentConfigurations.Said.of(conf)
    // Two threads may both send one: none waits for another, whose query may be cancelled.
    Option(sent.getIfPresent(said)).getOrElse {
      val made = context.broadcast(new SerializableConfiguration(new Configuration(conf)))
      Option(sent.asMap.putIfAbsent(said, made)).getOrElse(made)
    }
  }
}

private[filescan] object SentConfigurations {

  /** Each takes memory of the driver and of every executor that has used it. */
  private[filescan] val Most = 16

  private val IdleMinutes = 10L

  private val all = new PerSparkContext[SentConfigurations](_ => new SentConfigurations)

  /** Broadcasts a copy of a configuration in this application, unless it has one that says the same. */
  def broadcast(
      conf: Configuration,
      context: SparkContext): Broadcast[SerializableConfiguration] =
    all.of(context).of(conf, context)

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
    def of(conf: Configuration): Said = Said(
      conf.asScala.iterator.map(property => property.getKey -> property.getValue).toMap,
      conf.getClassLoader)
  }
}
