package io.oap.spark.rpc

/** Names under which the services of driver and executors find each other in Spark's RPC. */
private[spark] object ServiceNames {

  /** Takes what executors report, in the driver. */
  val Driver = "oap-driver"

  /** Takes the driver's requests, in each executor. */
  val Executor = "oap-executor"
}
