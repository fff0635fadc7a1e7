package io.oap.spark

import org.apache.spark.SPARK_VERSION
import org.scalatest.funsuite.AnyFunSuite

/** Which versions of Spark a jar adds anything to. */
class OapExtensionsSuite extends AnyFunSuite {

  test("the line of Spark that the jar was compiled for is served, another one is not") {
    assert(OapExtensions.mismatch(SPARK_VERSION).isEmpty)
    for (other <- Seq("3.5.6", "4.0.1", "4.10.0", "5.0.0")) {
      val why = OapExtensions.mismatch(other)
      assert(why.exists(_.contains(s"this is Spark $other")), other)
    }
  }
}
