package io.oap.spark

/** A suite in which tasks fail on purpose: Spark would log each failed try with its stack. */
trait UnloggedFailures extends CacheSuite {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.setLogLevel("OFF")
  }

  override protected def afterAll(): Unit = {
    spark.sparkContext.setLogLevel("WARN")
    super.afterAll()
  }
}
