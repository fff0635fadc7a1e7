package io.oap.cache.stats;

import static io.oap.cache.stats.Figure.BYPASSES;
import static io.oap.cache.stats.Figure.BYTES_FROM_FILE;
import static io.oap.cache.stats.Figure.BYTES_FROM_POOL;
import static io.oap.cache.stats.Figure.CAPACITY_BYTES;
import static io.oap.cache.stats.Figure.CHUNKS;
import static io.oap.cache.stats.Figure.EVICTIONS;
import static io.oap.cache.stats.Figure.HITS;
import static io.oap.cache.stats.Figure.LOAD_NANOS;
import static io.oap.cache.stats.Figure.MISSES;
import static io.oap.cache.stats.Figure.PINNED_BYTES;
import static io.oap.cache.stats.Figure.USED_BYTES;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The dashboard for Grafana: what matters most, then a panel for each figure. */
final class GrafanaPage {
  private static final Map<String, Object> SOURCE =
      object("type", "prometheus", "uid", "${source}");
  private static final String OF_APPLICATION = "application_name=~\"$application\"";
  private static final String OF_EXECUTOR = OF_APPLICATION + ",executor_id=~\"$executor\"";

  /** Executors of two applications have the same ids. */
  private static final String SUM_OF_EXECUTOR = "sum by (application_id, executor_id) ";

  private static final String EXECUTOR = "{{application_id}} {{executor_id}}";
  private static final int WIDTH = 24;

  private final List<Object> panels = new ArrayList<>();
  private int x;
  private int y;

  private GrafanaPage() {}

  /** The whole file, ending with a line end. */
  static String text() {
    GrafanaPage page = new GrafanaPage();
    page.addSums();
    page.addOverTime();
    page.addAllFigures();
    Map<String, Object> dashboard =
        object(
            "title",
            "OAP column cache",
            "uid",
            "oap-column-cache",
            "description",
            "The column cache of Spark applications. It reads what is at /oap/metrics/prometheus"
                + " of their UIs.",
            "tags",
            List.of("spark", "oap"),
            "schemaVersion",
            39,
            "version",
            1,
            "editable",
            true,
            "refresh",
            "30s",
            "time",
            object("from", "now-1h", "to", "now"),
            "templating",
            object("list", variables()),
            "panels",
            page.panels);
    return JsonText.of(dashboard) + "\n";
  }

  private static List<Object> variables() {
    String chunks = CHUNKS.prometheus();
    return List.of(
        object(
            "name", "source", "label", "Prometheus", "type", "datasource", "query", "prometheus"),
        variable("application", "Application", chunks + ", application_name"),
        variable("executor", "Executor", chunks + "{" + OF_APPLICATION + "}, executor_id"));
  }

  private static Map<String, Object> variable(String name, String label, String values) {
    return object(
        "name",
        name,
        "label",
        label,
        "type",
        "query",
        "datasource",
        SOURCE,
        "query",
        object("query", "label_values(" + values + ")", "refId", name),
        "refresh",
        2,
        "includeAll",
        true,
        "multi",
        true,
        "allValue",
        ".*",
        "current",
        object("text", "All", "value", "$__all"));
  }

  private void addSums() {
    addSum(
        "Hit ratio",
        "Column chunks found in the pools, of all that were asked for",
        "percentunit",
        hitRatio("sum", OF_APPLICATION));
    addSum(
        "Pools used",
        "Bytes that belong to column chunks, of the capacity of all pools",
        "percentunit",
        sum(USED_BYTES) + " / " + sum(CAPACITY_BYTES));
    addSum(
        "Executors",
        "Executors that have told of their cache",
        "none",
        "count(" + CHUNKS.prometheus() + "{" + OF_APPLICATION + "})");
    addSum("Column chunks held", "In all pools", "none", sum(CHUNKS));
    addSum(
        "Pinned",
        "Bytes of column chunks that may not leave: in use, or pinned",
        "bytes",
        sum(PINNED_BYTES));
    addSum(
        "Load rate",
        "Bytes read from files in a second that one task spent reading",
        "Bps",
        "1000 * " + sum(BYTES_FROM_FILE) + " / " + sum(LOAD_NANOS));
  }

  private void addOverTime() {
    addPlot(
        "Bytes read",
        "All executors",
        "Bps",
        object("from the pools", sum(BYTES_FROM_POOL), "from files", sum(BYTES_FROM_FILE)));
    addPlot(
        "Column chunks asked for",
        "All executors",
        "ops",
        object(
            "hits", sum(HITS),
            "misses", sum(MISSES),
            "bypasses", sum(BYPASSES),
            "evictions", sum(EVICTIONS)));
    addPlot(
        "Hit ratio by executor",
        "Column chunks found in the pool, of all that were asked for",
        "percentunit",
        object(EXECUTOR, hitRatio(SUM_OF_EXECUTOR, OF_EXECUTOR)));
    addPlot(
        "Pool used by executor",
        "Bytes that belong to column chunks",
        "bytes",
        object(
            EXECUTOR,
            USED_BYTES.prometheus() + "{" + OF_EXECUTOR + "}",
            "largest capacity",
            "max(" + CAPACITY_BYTES.prometheus() + "{" + OF_EXECUTOR + "})"));
  }

  private void addAllFigures() {
    addRow("All figures by executor");
    for (Figure figure : Figure.values()) {
      String name = figure.column().replace('_', ' ');
      addPlot(
          name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1),
          figure.meaning,
          unit(figure),
          object(EXECUTOR, values(figure, SUM_OF_EXECUTOR, OF_EXECUTOR)));
    }
  }

  private static String unit(Figure figure) {
    return switch (figure.unit) {
      case BYTES -> figure.isCounter ? "Bps" : "bytes";
      case COUNT -> figure.isCounter ? "ops" : "none";
      case NANOS -> "ms";
    };
  }

  /** Sums over executors; what a pool is and holds counts once, however many executors have it. */
  private static String sum(Figure figure) {
    return figure.owner == Figure.Owner.POOL
        ? "sum(" + values(figure, "max by (pool) ", OF_APPLICATION) + ")"
        : values(figure, "sum", OF_APPLICATION);
  }

  /** What a counter grows by in a second, or a gauge is. */
  private static String values(Figure figure, String sum, String labels) {
    String series = figure.prometheus() + "{" + labels + "}";
    return sum + "(" + (figure.isCounter ? "rate(" + series + "[$__rate_interval])" : series) + ")";
  }

  private static String hitRatio(String sum, String labels) {
    String hits = values(HITS, sum, labels);
    String others = values(MISSES, sum, labels) + " + " + values(BYPASSES, sum, labels);
    return hits + " / (" + hits + " + " + others + ")";
  }

  private void addSum(String title, String description, String unit, String query) {
    add(
        "stat",
        object("title", title, "description", description, "unit", unit),
        object("", query),
        object("reduceOptions", object("calcs", List.of("lastNotNull"))),
        4,
        5);
  }

  private void addPlot(String title, String description, String unit, Map<String, Object> lines) {
    add(
        "timeseries",
        object("title", title, "description", description, "unit", unit),
        lines,
        object("legend", object("displayMode", "list", "placement", "bottom")),
        12,
        8);
  }

  private void addRow(String title) {
    x = 0;
    panels.add(
        object(
            "id",
            panels.size() + 1,
            "title",
            title,
            "type",
            "row",
            "collapsed",
            false,
            "gridPos",
            object("x", 0, "y", y, "w", WIDTH, "h", 1),
            "panels",
            List.of()));
    y++;
  }

  private void add(
      String type,
      Map<String, Object> texts,
      Map<String, Object> queries,
      Map<String, Object> options,
      int width,
      int height) {
    List<Object> targets = new ArrayList<>();
    queries.forEach(
        (legend, query) ->
            targets.add(
                object(
                    "datasource", SOURCE,
                    "expr", query,
                    "legendFormat", legend,
                    "refId", String.valueOf((char) ('A' + targets.size())))));
    Map<String, Object> defaults = object("unit", texts.get("unit"), "min", 0);
    if (defaults.get("unit").equals("percentunit")) {
      defaults.put("max", 1);
    }
    panels.add(
        object(
            "id",
            panels.size() + 1,
            "title",
            texts.get("title"),
            "description",
            texts.get("description"),
            "type",
            type,
            "datasource",
            SOURCE,
            "gridPos",
            object("x", x, "y", y, "w", width, "h", height),
            "fieldConfig",
            object("defaults", defaults, "overrides", List.of()),
            "targets",
            targets,
            "options",
            options));
    x = (x + width) % WIDTH;
    y += x == 0 ? height : 0;
  }

  /** A JSON object of names and values in turn. */
  private static Map<String, Object> object(Object... fields) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int i = 0; i < fields.length; i += 2) {
      object.put((String) fields[i], fields[i + 1]);
    }
    return object;
  }
}
