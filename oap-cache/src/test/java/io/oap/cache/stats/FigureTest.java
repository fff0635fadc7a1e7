package io.oap.cache.stats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The figures, what counts them, and the files made from them. */
class FigureTest {

  @Test
  void files_always_areWhatTheFiguresSay() throws Exception {
    for (Map.Entry<String, String> file : FigurePages.files().entrySet()) {
      String written = Files.readString(Path.of("..", file.getKey()));
      assertTrue(written.equals(file.getValue()), file.getKey() + " is out of date: run dev/docs");
    }
  }

  @Test
  void files_always_nameEveryFigure() {
    String metrics = FigurePages.files().get("docs/metrics.md");
    String dashboard = FigurePages.files().get("conf/oap-grafana.json");
    for (Figure figure : Figure.values()) {
      assertTrue(metrics.contains("| `" + figure.column() + "` |"), figure.name());
      assertTrue(dashboard.contains(figure.prometheus() + "{"), figure.name());
    }
  }

  /** Each application has an executor 1. */
  @Test
  void dashboard_ofExecutors_keepsApplicationsApart() {
    String dashboard = FigurePages.files().get("conf/oap-grafana.json");
    assertTrue(dashboard.contains("sum by (application_id, executor_id) "));
    assertFalse(dashboard.contains("by (executor_id)"));
    assertEquals(
        Figure.values().length + 2,
        dashboard.split(Pattern.quote("{{application_id}} {{executor_id}}"), -1).length - 1);
    assertFalse(dashboard.contains("\"{{executor_id}}"));
  }

  /** What a pool is and holds is no more when nobody has it, so none of it only grows. */
  @Test
  void figuresOfAPool_inSums_countOnceForEachPool() {
    String dashboard = FigurePages.files().get("conf/oap-grafana.json");
    for (Figure figure : Figure.values()) {
      boolean isOnce = dashboard.contains("max by (pool) (" + figure.prometheus() + "{");
      assertEquals(figure.owner == Figure.Owner.POOL, isOnce, figure.name());
      assertFalse(isOnce && figure.isCounter, figure.name());
    }
    assertTrue(dashboard.contains("\"sum(oap_executor_pinned_bytes{"));
    assertTrue(dashboard.contains("\"sum(rate(oap_executor_evictions_total{"));
  }

  @Test
  void names_ofTwoFigures_differ() {
    List<Function<Figure, String>> kinds =
        List.of(
            Figure::field,
            Figure::gauge,
            Figure::column,
            Figure::prometheus,
            figure -> figure.meaning);
    for (Function<Figure, String> kind : kinds) {
      Set<String> names = new HashSet<>();
      for (Figure figure : Figure.values()) {
        assertTrue(names.add(kind.apply(figure)), figure.name());
      }
    }
    Set<String> metrics = new HashSet<>();
    Set<String> labels = new HashSet<>();
    for (Figure figure : Figure.OF_READERS) {
      assertTrue(metrics.add(figure.metric) && labels.add(figure.label), figure.name());
    }
  }

  @Test
  void names_ofADuration_sayTheUnit() {
    Figure load = Figure.LOAD_NANOS;
    assertEquals(
        List.of("loadNanos", "loadMillis", "load_millis", "oap_executor_load_millis_total"),
        List.of(load.field(), load.gauge(), load.column(), load.prometheus()));
    assertEquals(3, load.shown(3_999_999));
    assertEquals(3_000_000, load.counted(3));
  }

  @Test
  void aChunkThatWasMissed_always_countsOnceAndHasItsCause() {
    for (MissCause cause : MissCause.values()) {
      CacheCounters counters = new CacheCounters();
      counters.miss(cause);
      Figure sum = cause.isLoaded() ? Figure.MISSES : Figure.BYPASSES;
      for (Figure figure : Figure.values()) {
        boolean isMoved = figure == sum || figure == Figure.of(cause);
        assertEquals(isMoved ? 1 : 0, counters.get(figure), cause + " and " + figure);
      }
      assertTrue(Figure.of(cause).meaning.endsWith(cause.reason()));
      assertEquals(1, counters.chunksAsked());
    }
  }

  @Test
  void counters_ofEachFigure_addUpAndAreSubtracted() {
    CacheCounters counters = new CacheCounters();
    for (Figure figure : Figure.OF_READERS) {
      counters.add(figure, 10 + figure.ordinal());
    }
    CacheCounters twice = new CacheCounters();
    twice.add(counters);
    twice.add(counters);
    for (Figure figure : Figure.OF_READERS) {
      assertEquals(20 + 2 * figure.ordinal(), twice.get(figure));
      assertEquals(10 + figure.ordinal(), twice.minus(counters).get(figure));
    }
  }
}
