package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonAnySetter;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
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
   * Sums over all executors at one moment. In JSON the figures of the pool stand beside the other
   * fields, those of readers in one of their own.
   *
   * @param atMillis since the epoch
   * @param executors that are there and have told of themselves
   * @param figures of the past so far, of the present now
   */
  public record Sample(long atMillis, int executors, @JsonIgnore Figures figures) {

    @JsonCreator
    static Sample ofJson(
        @JsonProperty("atMillis") long atMillis,
        @JsonProperty("executors") int executors,
        @JsonProperty("readers") Figures readers,
        @JsonAnySetter Map<String, Object> others) {
      return new Sample(atMillis, executors, Figures.ofJson(others).plus(readers));
    }

    @JsonAnyGetter
    Map<String, Long> pool() {
      return figures.pool();
    }

    @JsonProperty
    Map<String, Long> readers() {
      return figures.readers();
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
  public record TableStatus(String table, long scans, long lastMillis, Figures readers) {}

  /**
   * How often a column was read.
   *
   * @param scans scans that had it among their columns
   * @param lastMillis when the last of them ended
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record ColumnStatus(String table, String column, long scans, long lastMillis) {}
}
