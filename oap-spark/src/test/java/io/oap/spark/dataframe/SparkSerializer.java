package io.oap.spark.dataframe;

import org.apache.spark.sql.execution.columnar.InMemoryRelation$;

/** The serializer of cached DataFrames, of which Spark makes one for the life of the process. */
final class SparkSerializer {
  private SparkSerializer() {}

  /** Lets Spark make it anew, by the configuration of the application that caches next. */
  static void forget() {
    InMemoryRelation$.MODULE$.clearSerializer();
  }
}
