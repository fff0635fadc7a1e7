package io.oap.spark

import org.apache.spark.SparkEnv
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** A suite whose executors are processes of their own. */
abstract class ExecutorsSuite(executors: Int, cores: Int = 1) extends CacheSuite {
  private val HomeOfWorkers = "spark.test.home"

  override protected def newApplication(settings: Map[String, String]): SparkSession = {
    // Where the workers put the folders and logs of their executors, as Spark tests itself.
    System.setProperty(HomeOfWorkers, folder.toString)
    super.newApplication(
      Map(
        // There is no installation of Spark that its launcher could look into.
        "spark.executorEnv.SPARK_SCALA_VERSION" -> "2.13",
        "spark.master" -> s"local-cluster[$executors,$cores,1024]",
        // As for the suite's own process: they live for a minute.
        "spark.executor.extraJavaOptions" ->
          "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.executor.extraClassPath" -> System.getProperty("java.class.path")
      ) ++ settings)
  }

  /** Ids of the executors that a plan of the query names to Spark's scheduler. */
  protected def executorsNamed(query: DataFrame): Set[String] = {
    val scans = collect(query.queryExecution.sparkPlan) { case scan: BatchScanExec => scan }
    scans.flatMap(_.inputPartitions).flatMap(_.preferredLocations())
      .collect { case s"executor_${_}_$id" => id }.toSet
  }

  /** The process of each executor, as far as it has a free slot now. */
  protected def processes(): Map[String, Long] = {
    val ids = spark.sparkContext.parallelize(1 to 60, 60).map { _ =>
      Thread.sleep(50)
      SparkEnv.get.executorId -> ProcessHandle.current.pid
    }
    ids.collect().toMap
  }

  /** @param name of the signal, as `kill -s` takes it */
  protected def signal(process: Long, name: String): Unit =
    assert(new ProcessBuilder("kill", "-s", name, process.toString).start().waitFor() === 0)

  override protected def afterAll(): Unit =
    try super.afterAll()
    finally System.clearProperty(HomeOfWorkers)
}
