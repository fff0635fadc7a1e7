package io.oap.cache.stats;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The files that are made from the figures: docs/metrics.md and conf/oap-grafana.json. */
public final class FigurePages {
  private static final String OPENING =
      """
      # Metrics

      What the cache tells of itself. [operations.md](operations.md#monitoring) says where to look. What a figure is of:

      - Pool: what it is and holds. Executors that have one pool together each tell of all of it, and sums of ours count it once.
      - Executor: what it does with its pool, and the file tier below it. Sums count what each of them tells, a chunk that two have pinned twice.
      - Readers: what tasks found in the pool of their executor and what they read from files.

      Where it is to be found:

      - SQL: `oap.system.executors` has a column for each, `oap.system.scans` for those of readers.
      - REST and event logs: a field of `readers`, all others of `pool`, which in the sums stand beside `readers`. Durations are nanoseconds there.
      - Spark's metrics: of the source `oap`, of the driver (sums) and of each executor.
      - Prometheus: at `/oap/metrics/prometheus`, for each executor, with the labels `executor_id` and `pool`.
      - Scan: a metric of the scan of a plan, as events and REST tell it; beside it what Spark's SQL tab calls it.

      This page is generated from `Figure`: change it there and run `dev/docs`.

      | Meaning | Unit | Of | SQL | REST | Spark's metrics | Prometheus | Scan |
      |---|---|---|---|---|---|---|---|
      """;

  private FigurePages() {}

  /**
   * Writes the files.
   *
   * @param arguments the folder of the project
   */
  public static void main(String[] arguments) throws IOException {
    for (Map.Entry<String, String> file : files().entrySet()) {
      Files.writeString(Path.of(arguments[0], file.getKey()), file.getValue());
    }
  }

  /** Content by path below the folder of the project. */
  static Map<String, String> files() {
    return new TreeMap<>(
        Map.of("docs/metrics.md", page(), "conf/oap-grafana.json", GrafanaPage.text()));
  }

  private static String page() {
    StringBuilder page = new StringBuilder(OPENING);
    for (Figure figure : Figure.values()) {
      page.append(
          String.format(
              "| %s | %s | %s | `%s` | `%s` | `%s` | `%s` | %s |%n",
              figure.meaning,
              unit(figure),
              owner(figure),
              figure.column(),
              figure.field(),
              figure.gauge(),
              figure.prometheus(),
              figure.isOfPool() ? "" : "`" + figure.metric + "`: " + figure.label));
    }
    return page.toString();
  }

  private static String owner(Figure figure) {
    return switch (figure.owner) {
      case POOL -> "pool";
      case PROCESS -> "executor";
      case READERS -> "readers";
    };
  }

  private static String unit(Figure figure) {
    return switch (figure.unit) {
      case BYTES -> "bytes";
      case COUNT -> "count";
      case NANOS -> "milliseconds";
    };
  }
}
