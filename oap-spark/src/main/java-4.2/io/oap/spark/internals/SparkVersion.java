package io.oap.spark.internals;

import jakarta.servlet.http.HttpServletRequest;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.optimizer.MergeSubplans$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDD;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.xml.Node;

/** What is called another way in other versions of Spark. */
public final class SparkVersion {
  /** The versions of Spark that this jar is for: those that begin so. */
  public static final String LINE = "4.2";

  private SparkVersion() {}

  /** Spark's own rule that merges subqueries which differ in their columns only. */
  public static Rule<LogicalPlan> mergeSubqueries() {
    return MergeSubplans$.MODULE$;
  }

  /** The rows of a reader, one task for each partition. */
  public static RDD<InternalRow> rows(
      SparkContext context, Seq<InputPartition> partitions, PartitionReaderFactory readers) {
    Seq<Option<InputPartition>> each = partitions.toList().map(one -> Option.apply(one));
    return new DataSourceRDD(context, each, readers, false, Map$.MODULE$.empty());
  }

  /** A page with Spark's navigation above it, without reloading itself or its tables. */
  static Seq<Node> page(
      HttpServletRequest request, String title, Function0<Seq<Node>> content, SparkUITab tab) {
    return UIUtils.headerSparkPage(
        request,
        title,
        content,
        tab,
        Option.empty(),
        false,
        false,
        UIUtils.headerSparkPage$default$8());
  }
}
