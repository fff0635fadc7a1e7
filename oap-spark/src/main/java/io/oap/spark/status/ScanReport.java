package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.List;
import java.util.Map;

/**
 * A cached scan that has ended, with what the SQL tab shows of it.
 *
 * @param execution Spark's id of the SQL execution
 * @param endedMillis when the execution ended, since the epoch
 * @param table name of the table, or its paths
 * @param columns that were read
 * @param metrics see {@link io.oap.spark.read.ScanMetrics}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ScanReport(
    long execution,
    long endedMillis,
    String table,
    List<String> columns,
    Map<String, Long> metrics) {

  /** 0 where the scan has no such metric. */
  public long metric(String name) {
    return metrics.getOrDefault(name, 0L);
  }

  public Figures readers() {
    return Figures.ofScan(metrics);
  }
}
