package io.oap.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.PruneFileSourcePartitions$;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import scala.Option;

/** What Spark has but opens only to its own packages; Java does not see that restriction. */
final class SparkInternals {
  private SparkInternals() {}

  /** Spark's own rule that lists only the partitions a query can need. */
  static LogicalPlan prunePartitions(LogicalPlan plan) {
    return PruneFileSourcePartitions$.MODULE$.apply(plan);
  }

  /** Whether a value of a user-defined type lies anywhere in the rows of this schema. */
  static boolean hasUserDefinedType(StructType schema) {
    return schema.existsRecursively(type -> type instanceof UserDefinedType);
  }

  /** A column name in backticks, so that a dot in it is part of the name. */
  static String quoted(String name) {
    return QuotingUtils.quoteIdentifier(name);
  }

  /** A V2 predicate as the V1 filter with the same meaning, if there is one. */
  static Option<Filter> toFilter(Predicate predicate) {
    return PredicateUtils.toV1(predicate);
  }

  /** Ids of the executors that run tasks, each with its host; a local one has the driver's id. */
  static Map<String, String> executorHosts(SparkContext context) {
    Map<String, String> hosts = new HashMap<>();
    context
        .statusStore()
        .executorList(true)
        .foreach(
            executor -> {
              if (context.isLocal() || !executor.id().equals("driver")) {
                String hostPort = executor.hostPort();
                hosts.put(executor.id(), hostPort.substring(0, hostPort.lastIndexOf(':')));
              }
              return null;
            });
    return hosts;
  }
}
