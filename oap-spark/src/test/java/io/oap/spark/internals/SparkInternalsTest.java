package io.oap.spark.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What is made of the texts in which Spark says things. */
class SparkInternalsTest {

  @Test
  void anExecutorThatIsJoiningHasAHostWithoutPort() {
    assertEquals("worker1", SparkInternals.hostOf("worker1:40123"));
    assertEquals("127.0.0.9", SparkInternals.hostOf("127.0.0.9"));
    assertEquals("[::1]", SparkInternals.hostOf("[::1]:40123"));
    assertEquals("[::1]", SparkInternals.hostOf("[::1]"));
  }
}
