package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.List;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * What is known of the column cache of an application at one moment: the one source of the tab in
 * Spark's UI, its REST and the metrics, and what the History Server keeps.
 *
 * @param key the same for all: a store has one
 * @param totals of all executors, those that are gone among them as far as it is about the past
 * @param executors by the order in which they came, those that are gone first
 * @param samples oldest first
 * @param tables read last first
 * @param columns read last first
 * @param scans that have ended, oldest first
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record CacheSnapshot(
    String key,
    Sample totals,
    List<ExecutorStatus> executors,
    List<Sample> samples,
    List<TableStatus> tables,
    List<ColumnStatus> columns,
    List<ScanReport> scans) {
  public static final String KEY = "column cache";

  /** Annotated here, because an annotation of the component would count twice. */
  @Override
  @KVIndex
  public String key() {
    return key;
  }

  /** Whether the application has used the column cache at all. */
  public boolean isOfUse() {
    return totals.atMillis > 0 || !scans.isEmpty();
  }

  /**
   * Sums over all executors at one moment.
   *
   * @param atMillis since the epoch
   * @param executors that are there and have told of themselves
   * @param evictions chunks that had to leave the pools so far
   * @param readers what was counted so far
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Sample(
      long atMillis,
      int executors,
      long capacityBytes,
      long usedBytes,
      long pinnedBytes,
      long chunks,
      long evictions,
      ReaderTotals readers) {

    /** Makes the sample of one executor. */
    public static Sample of(long atMillis, ExecutorReport report) {
      PoolReport pool = report.pool();
      return pool == null
          ? new Sample(atMillis, 1, 0, 0, 0, 0, 0, report.readers())
          : new Sample(
              atMillis,
              1,
              pool.capacityBytes(),
              pool.usedBytes(),
              pool.pinnedBytes(),
              pool.chunks(),
              pool.evictions(),
              report.readers());
    }
  }

  /**
   * An executor that is there, or was.
   *
   * @param isLive whether it is there
   * @param sampledMillis when it told of itself last; 0 when it never has
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record ExecutorStatus(boolean isLive, long sampledMillis, ExecutorReport report) {}

  /**
   * What the scans of a table have done, together.
   *
   * @param lastMillis when the last of them ended
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record TableStatus(String table, long scans, long lastMillis, ReaderTotals readers) {}

  /**
   * How often a column was read.
   *
   * @param scans scans that had it among their columns
   * @param lastMillis when the last of them ended
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record ColumnStatus(String table, String column, long scans, long lastMillis) {}
}
