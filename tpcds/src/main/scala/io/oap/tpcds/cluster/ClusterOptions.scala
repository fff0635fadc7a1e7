package io.oap.tpcds.cluster

import io.oap.tpcds.Json

/**
 * What a person asked dev/cluster to measure. The script has checked it and passes it on as JSON.
 *
 * @param command which measurement
 * @param data folder of the generated data, shared by all scales
 * @param scale TPC-DS scale factor
 * @param queries in the order in which a round runs them
 * @param storage name of a storage class
 * @param store URL of the file system that the data is to be copied to and read from; empty: none
 * @param rounds how often all queries run
 * @param losses how many executors are lost, one after the other
 * @param placements values of spark.oap.placement that are compared, and [[io.oap.tpcds.result.Round.SparkAlone]]
 * @param pool capacity of each pool in Spark's notation; empty: it is measured what the queries
 *     need, and each pool gets `poolShare` of that
 * @param minutes how long failures are made
 * @param randomQueries how many are to run, where they are random
 * @param seed of what is random
 * @param executors how many the cluster gives an application
 * @param cores tasks that an executor runs at a time
 * @param control command line of dev/cluster, from where the driver runs
 * @param work folder for data that is made and thrown away
 */
final case class ClusterOptions(
    command: String,
    data: String,
    scale: Double,
    queries: Seq[String],
    storage: String,
    store: String,
    rounds: Int,
    losses: Int,
    placements: Seq[String],
    pool: String,
    poolShare: Double,
    minutes: Int,
    randomQueries: Int,
    seed: Long,
    executors: Int,
    cores: Int,
    control: Seq[String],
    work: String)

object ClusterOptions {

  /** @throws com.fasterxml.jackson.core.JacksonException when one is missing or unknown */
  def of(json: String): ClusterOptions = Json.read(json, classOf[ClusterOptions])
}
