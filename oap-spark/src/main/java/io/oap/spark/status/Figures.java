package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.Figure;
import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * A value for each {@link Figure}, of one process or of several together; 0 where it is not known.
 * Immutable. As JSON it has the figures of readers; {@link #pool} gives the others.
 */
public record Figures(List<Long> values) implements Serializable {
  private static final List<Figure> ALL = List.of(Figure.values());

  public static final Figures NONE = of(ALL, figure -> 0);

  private static Figures of(List<Figure> figures, ToLongFunction<Figure> value) {
    return new Figures(
        ALL.stream().map(f -> figures.contains(f) ? value.applyAsLong(f) : 0L).toList());
  }

  public static Figures of(CacheCounters counters) {
    return of(Figure.OF_READERS, counters::get);
  }

  public static Figures of(PoolStats stats) {
    return of(Figure.OF_POOL, figure -> figure.of(stats));
  }

  /** Makes the figures of a scan from its metrics, see {@link Figure#metric}. */
  public static Figures ofScan(Map<String, Long> metrics) {
    return of(Figure.OF_READERS, figure -> figure.counted(metrics.getOrDefault(figure.metric, 0L)));
  }

  /** Reads fields of JSON. Those of another version that are not known here are passed over. */
  @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
  public static Figures ofJson(Map<String, Object> fields) {
    return of(
        ALL, figure -> fields.get(figure.field()) instanceof Number value ? value.longValue() : 0);
  }

  @JsonValue
  public Map<String, Long> readers() {
    return json(Figure.OF_READERS);
  }

  public Map<String, Long> pool() {
    return json(Figure.OF_POOL);
  }

  private Map<String, Long> json(List<Figure> figures) {
    Map<String, Long> fields = new LinkedHashMap<>();
    figures.forEach(figure -> fields.put(figure.field(), get(figure)));
    return fields;
  }

  public long get(Figure figure) {
    return values.get(figure.ordinal());
  }

  public Figures plus(Figures other) {
    return of(ALL, figure -> get(figure) + other.get(figure));
  }

  public Figures minus(Figures other) {
    return of(ALL, figure -> get(figure) - other.get(figure));
  }

  /** Leaves only what processes that have one pool together each tell of all of it. */
  public Figures ofWholePool() {
    return of(ALL, figure -> figure.owner == Figure.Owner.POOL ? get(figure) : 0);
  }

  /** Leaves out what only grows: what is left is no more when an executor has gone. */
  public Figures gauges() {
    return of(ALL, figure -> figure.isCounter ? 0 : get(figure));
  }

  /** Millions of bytes for each second that a task spent reading files; null before it has. */
  public Double loadRate() {
    long nanos = get(Figure.LOAD_NANOS);
    return nanos > 0 ? get(Figure.BYTES_FROM_FILE) * 1000.0 / nanos : null;
  }

  /** Part of the column chunks asked for that were in the pool, 0 to 1; null before any was. */
  public Double hitRatio() {
    long hits = get(Figure.HITS);
    long asked = hits + get(Figure.MISSES) + get(Figure.BYPASSES);
    return asked > 0 ? (double) hits / asked : null;
  }
}
