package io.oap.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.CapacityEstimates;
import io.oap.spark.status.CacheSnapshot;
import io.oap.spark.status.ExecutorReport;
import io.oap.spark.status.ExecutorSampled;
import io.oap.spark.status.PoolReport;
import io.oap.spark.status.ReaderTotals;
import io.oap.spark.status.ScanEnded;
import io.oap.spark.status.ScanReport;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.ServiceLoader;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.AppStatusStore;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.status.KVUtils;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.util.JsonProtocol;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What the History Server makes of an event log: the events come out of it as they went in. */
class HistoryTabTest {
  private static final long LARGE = 1L << 40;
  private static final ReaderTotals READERS = new ReaderTotals(LARGE, 2, 3, 4, 5, 6);
  private static final CapacityEstimates ESTIMATES =
      new CapacityEstimates(LARGE, List.of(1L, 2L, 3L, LARGE, 5L, 6L, 7L, 8L, LARGE));
  private static final PoolReport POOL =
      new PoolReport("dram", "", Map.of(1, LARGE), LARGE, 7, 8, 9, 10, "1.0", ESTIMATES);
  private static final List<SparkListenerEvent> EVENTS =
      List.of(
          new ExecutorSampled(1000, new ExecutorReport("1", "a", "open", null, POOL, READERS)),
          new ExecutorSampled(2000, new ExecutorReport("2", "b", "off", "why", null, READERS)),
          new ScanEnded(
              new ScanReport(LARGE, 3000, "<t>", List.of("c"), Map.of("chunksHit", LARGE))));

  private final SparkConf conf = new SparkConf(false).set("spark.ui.port", "0");
  private final ElementTrackingStore store = new ElementTrackingStore(new InMemoryStore(), conf);

  private static AppHistoryServerPlugin plugin() {
    return ServiceLoader.load(AppHistoryServerPlugin.class).stream()
        .filter(provider -> provider.type() == HistoryTab.class)
        .findFirst()
        .orElseThrow()
        .get();
  }

  private void replay(List<SparkListenerEvent> events) {
    Seq<SparkListener> listeners = plugin().createListeners(conf, store);
    for (SparkListener listener : CollectionConverters.asJava(listeners)) {
      events.forEach(listener::onOtherEvent);
    }
    store.close(false);
  }

  private boolean hasTab() {
    SparkUI ui =
        SparkUI.create(
            Option.empty(),
            new AppStatusStore(store, Option.empty(), Option.empty()),
            conf,
            new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE()),
            "application",
            "/history/1",
            0,
            "4.1");
    plugin().setupUI(ui);
    boolean hasRest =
        CollectionConverters.asJava(ui.getHandlers()).stream()
            .anyMatch(handler -> handler.getContextPath().equals("/history/1/oap/api/v1"));
    boolean isShown =
        CollectionConverters.asJava(ui.getTabs()).stream()
            .anyMatch(tab -> tab.name().equals("Column Cache"));
    assertEquals(isShown, hasRest);
    return isShown;
  }

  @Test
  void events_goThroughTheEventLogUnchanged() {
    for (SparkListenerEvent event : EVENTS) {
      String line = JsonProtocol.sparkEventToJsonString(event);
      assertEquals(event, JsonProtocol.sparkEventFromJson(line), line);
      String newer = line.replace("\"Event\"", "\"ofALaterVersion\":[1],\"Event\"");
      assertTrue(newer.contains("ofALaterVersion"));
      assertEquals(event, JsonProtocol.sparkEventFromJson(newer));
    }
  }

  @Test
  void events_ofClassesThatAreNotThere_areWhatSparkPassesOver() {
    String line = JsonProtocol.sparkEventToJsonString(EVENTS.get(0));
    String unknown = line.replace("ExecutorSampled", "NoSuchEvent");
    assertThrows(ClassNotFoundException.class, () -> rethrown(unknown));
  }

  /** Scala does not declare what it throws. */
  private static void rethrown(String line) throws Exception {
    JsonProtocol.sparkEventFromJson(line);
  }

  @Test
  void anApplication_withTheCache_hasATab() throws Exception {
    replay(EVENTS);
    CacheSnapshot kept = store.read(CacheSnapshot.class, CacheSnapshot.KEY);
    assertEquals(2, kept.executors().size());
    assertEquals(2 * LARGE, kept.totals().readers().hits());
    assertEquals(LARGE, kept.totals().capacityBytes());
    assertEquals(LARGE, kept.scans().get(0).metric("chunksHit"));
    assertTrue(hasTab());
  }

  @Test
  void anApplication_withoutTheCache_hasNone() {
    replay(List.of());
    assertThrows(
        NoSuchElementException.class, () -> store.read(CacheSnapshot.class, CacheSnapshot.KEY));
    assertFalse(hasTab());
  }

  @Test
  void aSnapshot_comesBackFromADiskAsItWas() throws Exception {
    replay(EVENTS);
    CacheSnapshot kept = store.read(CacheSnapshot.class, CacheSnapshot.KEY);
    KVUtils.KVStoreScalaSerializer serializer = new KVUtils.KVStoreScalaSerializer();
    byte[] bytes = serializer.serialize(kept);
    assertEquals(kept, serializer.deserialize(bytes, CacheSnapshot.class));
  }
}
