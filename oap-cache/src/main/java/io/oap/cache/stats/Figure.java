package io.oap.cache.stats;

import static io.oap.cache.stats.Figure.Owner.POOL;
import static io.oap.cache.stats.Figure.Owner.PROCESS;
import static io.oap.cache.stats.Figure.Owner.READERS;
import static io.oap.cache.stats.Figure.Unit.BYTES;
import static io.oap.cache.stats.Figure.Unit.COUNT;
import static io.oap.cache.stats.Figure.Unit.NANOS;

import io.oap.cache.pool.PoolStats;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A number that the cache tells of itself. A line here is all it takes to sum it up and to show it:
 * in SQL (tables {@code executors} and {@code scans}), REST, the event log, Spark's metrics,
 * Prometheus, Spark's SQL tab, the page docs/metrics.md and the dashboard for Grafana. The names of
 * the constants become names that users and event logs know.
 */
public enum Figure {
  CAPACITY_BYTES(POOL, BYTES, false, "Capacity", "capacity of the pool", PoolStats::capacityBytes),
  USED_BYTES(POOL, BYTES, false, "Used", "bytes that belong to chunks", PoolStats::usedBytes),
  PINNED_BYTES(
      PROCESS,
      BYTES,
      false,
      "Pinned",
      "bytes of chunks that may not leave: in use, or pinned",
      PoolStats::pinnedBytes),
  CHUNKS(POOL, COUNT, false, "Chunks", "column chunks held", PoolStats::chunks),
  EVICTIONS(
      PROCESS, COUNT, true, "Evictions", "chunks that had to leave the pool", PoolStats::evictions),
  TIER_CAPACITY_BYTES(
      PROCESS,
      BYTES,
      false,
      null,
      "capacity of the file tier",
      stats -> stats.tier().capacityBytes()),
  TIER_HELD_BYTES(
      PROCESS,
      BYTES,
      false,
      "In Tier",
      "bytes of chunks that the file tier holds",
      stats -> stats.tier().heldBytes()),
  TIER_BYTES_WRITTEN(
      PROCESS,
      BYTES,
      true,
      "To Tier",
      "bytes written to the disk of the file tier",
      stats -> stats.tier().bytesWritten()),
  TIER_ERRORS(
      PROCESS,
      COUNT,
      true,
      null,
      "reads and writes of the file tier that failed, and chunks damaged there",
      stats -> stats.tier().errors()),
  TIER_EVICTED_SEGMENTS(
      PROCESS,
      COUNT,
      true,
      null,
      "segments of 64 MiB of the file tier written over",
      stats -> stats.tier().evictedSegments()),

  HITS(
      COUNT,
      "chunksHit",
      "column chunks hit",
      "Hits",
      "column chunks found in the pool or in the tier below it"),
  MISSES(
      COUNT,
      "chunksMissed",
      "column chunks missed",
      "Misses",
      "column chunks loaded into the pool"),
  BYPASSES(
      COUNT,
      "chunksBypassed",
      "column chunks bypassed",
      "Bypasses",
      "column chunks read around the pool"),
  BYTES_FROM_POOL(BYTES, null, "bytes from the pool", "From Pool", "bytes taken from the pool"),
  HITS_FROM_TIER("chunks from the file tier", "of the hits: chunks that the file tier gave"),
  BYTES_FROM_TIER(
      BYTES,
      null,
      "bytes from the file tier",
      "From Tier",
      "bytes of chunks that the file tier gave"),
  BYTES_FROM_FILE(
      BYTES, null, "bytes from files", "From Files", "bytes read from files, footers included"),
  LOAD_NANOS(
      NANOS,
      "loadTime",
      "load time, all tasks",
      null,
      "milliseconds that tasks spent reading files"),
  MISSES_COLD(MissCause.COLD),
  MISSES_EVICTED(MissCause.EVICTED),
  MISSES_CHANGED_FILE(MissCause.CHANGED_FILE),
  BYPASSES_NOT_ADMITTED(MissCause.NOT_ADMITTED),
  BYPASSES_TOO_LARGE(MissCause.TOO_LARGE),
  BYPASSES_PINNED_FULL(MissCause.PINNED_FULL),
  BYPASSES_OTHER(MissCause.OTHER),
  ROW_GROUPS_PRUNED("row groups pruned", "row groups ruled out by statistics and join keys"),
  ZONES_SKIPPED("zones skipped", "zones of vector chunks of which no row was wanted"),
  ROWS_DROPPED("rows dropped in the scan", "rows left out of other zones and decoded batches"),
  TASKS_ELSEWHERE(
      "tasks run elsewhere than placed",
      "tasks that ran on another executor than they were placed on");

  /** What a figure is of. */
  public enum Owner {
    /** The pool as it is now: processes that have one together each tell the same. */
    POOL,

    /** What a process does with its pool, or has below it: sums add up what each tells. */
    PROCESS,

    /** Reads, of a process or of a scan. */
    READERS
  }

  /** What a figure counts. Durations are counted in nanoseconds and shown in milliseconds. */
  public enum Unit {
    BYTES,
    COUNT,
    NANOS
  }

  /** Figures that the pool of a process knows, in their order. */
  public static final List<Figure> OF_POOL = all().filter(Figure::isOfPool).toList();

  /** Figures that readers count, in their order. */
  public static final List<Figure> OF_READERS = all().filter(f -> !f.isOfPool()).toList();

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final Map<MissCause, Figure> OF_CAUSE = new EnumMap<>(MissCause.class);

  static {
    for (MissCause cause : MissCause.values()) {
      OF_CAUSE.put(cause, valueOf((cause.isLoaded() ? "MISSES_" : "BYPASSES_") + cause.name()));
    }
  }

  public final Owner owner;
  public final Unit unit;

  /** Whether it only grows. */
  public final boolean isCounter;

  /** Its name as a metric of Spark's scans; only figures of readers are. */
  public final String metric;

  /** What Spark's SQL tab calls that metric. */
  public final String label;

  /** Heading of its column in the tab "Column Cache"; null where it has none. */
  public final String title;

  /** What it counts, without a stop. */
  public final String meaning;

  private final ToLongFunction<PoolStats> ofPool;

  Figure(
      Owner owner,
      Unit unit,
      boolean isCounter,
      String metric,
      String label,
      String title,
      String meaning,
      ToLongFunction<PoolStats> ofPool) {
    this.owner = owner;
    this.unit = unit;
    this.isCounter = isCounter;
    this.metric = metric == null ? field() : metric;
    this.label = label;
    this.title = title;
    this.meaning = meaning;
    this.ofPool = ofPool;
  }

  Figure(
      Owner owner,
      Unit unit,
      boolean isCounter,
      String title,
      String meaning,
      ToLongFunction<PoolStats> of) {
    this(owner, unit, isCounter, null, null, title, meaning, of);
  }

  Figure(Unit unit, String metric, String label, String title, String meaning) {
    this(READERS, unit, true, metric, label, title, meaning, null);
  }

  Figure(String label, String meaning) {
    this(COUNT, null, label, null, meaning);
  }

  Figure(MissCause cause) {
    this(
        "column chunks " + (cause.isLoaded() ? "missed: " : "bypassed: ") + cause.words(),
        "of the " + (cause.isLoaded() ? "misses: " : "bypasses: ") + cause.reason());
  }

  private static Stream<Figure> all() {
    return Stream.of(values());
  }

  /** The chunks missed or bypassed for this reason. */
  public static Figure of(MissCause cause) {
    return OF_CAUSE.get(cause);
  }

  /** Whether the pool of a process knows it; otherwise readers count it. */
  public boolean isOfPool() {
    return owner != READERS;
  }

  /** Reads a figure that the pool knows. */
  public long of(PoolStats stats) {
    return ofPool.applyAsLong(stats);
  }

  /** Its name in REST and in event logs, where durations are nanoseconds. */
  public String field() {
    return camel(name().toLowerCase(Locale.ROOT));
  }

  /** Its column in SQL. */
  public String column() {
    return name().replace("NANOS", "MILLIS").toLowerCase(Locale.ROOT);
  }

  /** Its name in Spark's metrics. */
  public String gauge() {
    return camel(column());
  }

  /** Its name for Prometheus, with the executor as a label. */
  public String prometheus() {
    return "oap_executor_" + column() + (isCounter ? "_total" : "");
  }

  /** Turns what was counted into what is shown. */
  public long shown(long counted) {
    return unit == NANOS ? counted / NANOS_PER_MILLI : counted;
  }

  /** Turns what is shown back. */
  public long counted(long shown) {
    return unit == NANOS ? shown * NANOS_PER_MILLI : shown;
  }

  private static String camel(String words) {
    return Pattern.compile("_(.)")
        .matcher(words)
        .replaceAll(m -> m.group(1).toUpperCase(Locale.ROOT));
  }
}
