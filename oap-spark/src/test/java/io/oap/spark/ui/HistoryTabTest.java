package io.oap.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.model.CapacityEstimates;
import io.oap.cache.stats.Figure;
import io.oap.spark.status.CacheSnapshot;
import io.oap.spark.status.ExecutorReport;
import io.oap.spark.status.ExecutorSampled;
import io.oap.spark.status.Figures;
import io.oap.spark.status.MemoryReport;
import io.oap.spark.status.PoolReport;
import io.oap.spark.status.ScanEnded;
import io.oap.spark.status.ScanReport;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.ServiceLoader;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.cluster.ExecutorInfo;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.AppStatusStore;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.status.KVUtils;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.util.JsonProtocol;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What the History Server makes of an event log: the events come out of it as they went in. */
class HistoryTabTest {
  private static final long LARGE = 1L << 40;
  private static final Figures READERS =
      Figures.ofJson(Map.of("hits", LARGE, "misses", 2, "missesCold", 2, "loadNanos", 6));
  private static final CapacityEstimates ESTIMATES =
      new CapacityEstimates(LARGE, List.of(1L, 2L, 3L, LARGE, 5L, 6L, 7L, 8L, LARGE));
  private static final Figures POOL_FIGURES =
      Figures.ofJson(Map.of("capacityBytes", LARGE, "usedBytes", 7, "evictions", 10));
  private static final PoolReport POOL =
      new PoolReport(null, "dram", "", Map.of(1, LARGE), POOL_FIGURES, "1.0", ESTIMATES);
  private static final MemoryReport MEMORY =
      new MemoryReport("1", Map.of(1, LARGE), Map.of(0, 3L, 1, LARGE));
  private static final List<SparkListenerEvent> EVENTS =
      List.of(
          new ExecutorSampled(
              1000, new ExecutorReport("1", "a", "open", null, POOL, READERS, MEMORY)),
          new ExecutorSampled(
              2000, new ExecutorReport("2", "b", "off", "why", null, READERS, null)),
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
      for (SparkListenerEvent event : events) {
        if (event instanceof ExecutorSampled sampled) {
          listener.onExecutorAdded(added(sampled.report()));
        }
        listener.onOtherEvent(event);
      }
    }
    store.close(false);
  }

  private static SparkListenerExecutorAdded added(ExecutorReport report) {
    return new SparkListenerExecutorAdded(
        0,
        report.executor(),
        new ExecutorInfo(report.host(), 1, Map$.MODULE$.empty(), Map$.MODULE$.empty()));
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

  /** Lines of an event log of version 0.1.0, before readers told why they missed. */
  @Test
  void events_ofAnEarlierVersion_areRead() {
    String sampled =
        "{'Event':'io.oap.spark.status.ExecutorSampled','atMillis':1795615809916,'report':{"
            + "'executor':'7','host':'192.0.2.2','state':'open','why':null,'pool':{'medium':'dram',"
            + "'paths':'','bytesOnNodes':{'0':2097152},'capacityBytes':134217728,'usedBytes':2816,"
            + "'pinnedBytes':64,'chunks':3,'evictions':1,'nativeVersion':'0.1.0-SNAPSHOT',"
            + "'estimates':{'askedBytes':24225,'hitBytes':[1,1,1,1,1,1,1,1,1]}},'readers':{'hits':4,"
            + "'misses':2,'bypasses':5,'bytesFromPool':10891,'bytesFromFile':8738,"
            + "'loadNanos':28277710}}}";
    String ended =
        "{'Event':'io.oap.spark.status.ScanEnded','scan':{'execution':1,'endedMillis':1795615808203,"
            + "'table':'t','columns':['id','next'],'metrics':{'bytesFromFile':8738,'chunksHit':1,"
            + "'loadTime':28,'numOutputRows':10,'chunksMissed':2,'missesCold':2}}}";
    Figures all = ((ExecutorSampled) event(sampled)).report().readers();
    PoolReport pool = ((ExecutorSampled) event(sampled)).report().pool();
    assertEquals(
        "{hits=4, misses=2, bypasses=5, bytesFromPool=10891, bytesFromFile=8738, loadNanos=28277710}",
        notZero(all.readers()));
    assertEquals(
        "{capacityBytes=134217728, usedBytes=2816, pinnedBytes=64, chunks=3, evictions=1}",
        notZero(pool.figures().pool()));
    assertEquals(List.of("dram", "0.1.0-SNAPSHOT"), List.of(pool.medium(), pool.nativeVersion()));
    assertEquals(24225, pool.estimates().askedBytes());
    ScanReport scan = ((ScanEnded) event(ended)).scan();
    assertEquals(28_000_000, scan.readers().get(Figure.LOAD_NANOS));
    assertEquals(2, scan.readers().get(Figure.MISSES_COLD));
    assertEquals(1.0 / 3, scan.readers().hitRatio());
  }

  /** Figures that the earlier version did not know are 0. */
  private static String notZero(Map<String, Long> figures) {
    Map<String, Long> known = new LinkedHashMap<>(figures);
    known.values().removeIf(value -> value == 0);
    return known.toString();
  }

  private static SparkListenerEvent event(String line) {
    return JsonProtocol.sparkEventFromJson(line.replace('\'', '"'));
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
    assertEquals(2 * LARGE, kept.totals().figures().get(Figure.HITS));
    assertEquals(LARGE, kept.totals().figures().get(Figure.CAPACITY_BYTES));
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

  @Test
  void aSnapshot_thatAnotherVersionHasKept_isReadOrPassedOver() throws Exception {
    replay(EVENTS);
    CacheSnapshot kept = store.read(CacheSnapshot.class, CacheSnapshot.KEY);
    KVUtils.KVStoreScalaSerializer serializer = new KVUtils.KVStoreScalaSerializer();
    String json = unzipped(serializer.serialize(kept));
    String later = json.replaceFirst("\\{", "{\"ofALaterVersion\":[1],");
    assertEquals(kept, serializer.deserialize(zipped(later), CacheSnapshot.class));

    store.delete(CacheSnapshot.class, CacheSnapshot.KEY);
    String without = json.replaceFirst("\"scans\":\\[.*\\],?", "").replaceFirst(",}$", "}");
    store.write(serializer.deserialize(zipped(without), CacheSnapshot.class));
    assertFalse(without.equals(json));
    hasTab();
  }

  private static String unzipped(byte[] bytes) throws IOException {
    try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static byte[] zipped(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }
}
