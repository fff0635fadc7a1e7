package io.oap.tpcds

import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSession

import io.oap.spark.{CacheControl, OapExtensions}
import io.oap.tpcds.storage.{PacedFileSystem, StorageClass}

/**
 * The two sides of every comparison: two sessions of one Spark context, so that they share the JVM,
 * the executors, the compiled code and the configuration. They differ in the extension only.
 *
 * Spark reads `spark.sql.extensions` from the context, where both sessions would see it; the second
 * session is therefore built with the same extension by `withExtensions`.
 */
final class Systems private (val sparkAlone: SparkSession, val oap: SparkSession) {

  /**
   * One more session, with or without the extension, that has the tables of its side.
   *
   * @param settings of this session only
   * @throws Options.Rejected when one of them is no setting of a session
   */
  def session(withOap: Boolean, settings: Map[String, String]): SparkSession = {
    val made = (if (withOap) oap else sparkAlone).newSession()
    settings.keys.find(!made.conf.isModifiable(_)).foreach { key =>
      throw new Options.Rejected(s"$key is no setting of a session: --conf sets it for all systems")
    }
    val partitions = "spark.sql.shuffle.partitions"
    (Map(partitions -> sparkAlone.conf.get(partitions)) ++ settings)
      .foreach { case (key, value) => made.conf.set(key, value) }
    made
  }

  /** Empties the pool and the footer cache of all executors. */
  def clearCache(): Unit = CacheControl.clear(oap)
}

object Systems {

  /**
   * Starts Spark with what spark-submit configured.
   *
   * @param settings what is to be otherwise than it configured
   */
  def start(settings: Map[String, String] = Map.empty): Systems = {
    val conf = new SparkConf().setAll(settings)
    val builder = SparkSession.builder().config(conf).appName("OAP TPC-DS")
    StorageClass.values().foreach { storage =>
      builder.config(s"spark.hadoop.fs.${storage.scheme}.impl", classOf[PacedFileSystem].getName)
    }
    val sparkAlone = builder.getOrCreate()
    val slots = sparkAlone.sparkContext.defaultParallelism
    val coresOfJvm =
      if (sparkAlone.sparkContext.isLocal) slots else conf.getInt("spark.executor.cores", 1)
    sparkAlone.sparkContext.hadoopConfiguration.setInt(PacedFileSystem.CORES_KEY, coresOfJvm)
    val oap = SparkSession.builder().withExtensions(new OapExtensions).create()
    // Spark's 200 partitions would measure the scheduling of empty tasks.
    Seq(sparkAlone, oap).foreach(_.conf.set("spark.sql.shuffle.partitions", slots.toLong))
    new Systems(sparkAlone, oap)
  }
}
