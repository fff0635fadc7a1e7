package io.oap.spark.rpc

/** Names under which the services of driver and executors find each other in Spark's RPC. */
private[spark] object ServiceNames {

  /** Takes what executors report of their pools, in the driver. */
  val Residency = "oap-driver"

  /** Takes what executors report of their caches' figures, in the driver. */
  val Status = "oap-status"

  /** Takes the driver's requests, in each executor. */
  val Executor = "oap-executor"
}
