package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.FileRanges;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.Figure;
import io.oap.common.ChunkKey;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Caches that have one pool together. They are of one process here, and know no more of each other
 * than those of two.
 */
class SharedCacheTest {
  private static final FileIdentity FILE = new FileIdentity("file:/f", 1000, 1, "");
  private static final ChunkKey KEY = ChunkKey.encoded(FILE.id(), 0, 0);
  private static final ChunkRequest REQUEST = new ChunkRequest(KEY, 4, 100);
  private static final long TIMEOUT_SECONDS = 60;

  @TempDir Path directory;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private ColumnCache first;
  private ColumnCache second;

  private ColumnCache open(String... more) {
    Map<String, String> settings =
        new HashMap<>(
            Map.of(
                "spark.oap.pool.size", "1m",
                "spark.oap.pool.path", directory.toString(),
                "spark.oap.pool.shared", "true"));
    for (int i = 0; i < more.length; i += 2) {
      settings.put(more[i], more[i + 1]);
    }
    return ColumnCache.open(settings::get);
  }

  @BeforeEach
  void openBoth() {
    first = open();
    second = open();
  }

  @AfterEach
  void closeBoth() {
    threads.shutdownNow();
    first.close();
    second.close();
  }

  private static ByteBuffer content() {
    ByteBuffer bytes = ByteBuffer.allocate(100);
    while (bytes.hasRemaining()) {
      bytes.put((byte) (3 * bytes.position()));
    }
    return bytes.flip();
  }

  private static ChunkLoad begin(ColumnCache cache) {
    return cache.chunks().begin(KEY, 100, new ReadContext(new CacheCounters()));
  }

  private static void load(ColumnCache cache) {
    try (ChunkLoad load = begin(cache)) {
      load.publish(content(), Checksum.of(content()));
    }
  }

  private static void checkIsHeld(ColumnCache cache) {
    try (Pin pin = cache.chunks().pool.pin(KEY)) {
      assertNotNull(pin);
      assertTrue(Checksum.isRight(pin));
    }
  }

  /** Reads that nobody is to ask for. */
  private static FileRanges noFile() {
    return ranges -> {
      throw new IOException("the file is read");
    };
  }

  private Future<ByteBuffer> getIn(ColumnCache cache, FileRanges file) {
    return threads.submit(
        () -> {
          ReadContext context = new ReadContext(new CacheCounters());
          try (PinnedChunks held = cache.chunks().get(List.of(REQUEST), file, context)) {
            ByteBuffer copy = ByteBuffer.allocate(100).put(held.buffer(0));
            return copy.flip();
          }
        });
  }

  private static ByteBuffer of(Future<ByteBuffer> get)
      throws InterruptedException, ExecutionException, TimeoutException {
    return get.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  @Test
  void whatOneLoads_theOtherHasAndKnows() {
    assertNotNull(first.sharedHome());
    assertEquals(first.sharedHome(), second.sharedHome());
    long version = second.contentVersion();
    first.files().add(FILE.id(), SharedCacheTest::described);
    load(first);
    checkIsHeld(second);
    assertTrue(second.contentVersion() != version);
    assertNull(second.files().get(FILE.id()));
    assertEquals(KEY, second.snapshot().chunks().get(0).key());
    assertEquals(FILE, second.files().get(FILE.id()).identity());
    assertEquals(1, second.drop(FILE.id()));
    assertEquals(0, first.snapshot().chunks().size());
  }

  private static KnownFile described() {
    return new KnownFile(FILE, List.of("a"), new long[] {4}, new int[] {100});
  }

  @Test
  void whoComesLater_knowsTheFiles() {
    first.files().add(FILE.id(), SharedCacheTest::described);
    load(first);
    try (ColumnCache third = open()) {
      assertEquals(FILE, third.files().get(FILE.id()).identity());
      checkIsHeld(third);
    }
    first.close();
    second.close();
    first = open();
    second = open();
    assertEquals(FILE, second.files().get(FILE.id()).identity());
    checkIsHeld(first);
  }

  @Test
  void reader_waitsForTheLoadOfAnother() throws Exception {
    Future<ByteBuffer> get;
    try (ChunkLoad load = begin(first)) {
      get = getIn(second, noFile());
      assertThrows(TimeoutException.class, () -> get.get(50, TimeUnit.MILLISECONDS));
      load.publish(content(), Checksum.of(content()));
    }
    assertEquals(content(), of(get));
  }

  @Test
  void reader_readsTheFileWhenTheOtherGivesUp() throws Exception {
    CountDownLatch hasRead = new CountDownLatch(1);
    FileRanges file =
        ranges -> {
          hasRead.countDown();
          return List.of(content());
        };
    Future<ByteBuffer> get;
    try (ChunkLoad load = begin(first)) {
      assertTrue(load.hasRoom());
      get = getIn(second, file);
      assertFalse(hasRead.await(50, TimeUnit.MILLISECONDS));
    }
    assertEquals(content(), of(get));
  }

  @Test
  void waitForAnother_isBounded() throws Exception {
    try (ColumnCache impatient = open("spark.oap.cache.loadTimeout", "50ms");
        ChunkLoad load = begin(first)) {
      assertTrue(load.hasRoom());
      assertEquals(content(), of(getIn(impatient, ranges -> List.of(content()))));
    }
  }

  /** Loads more than there is room for, so that chunks are evicted. */
  private static void overfill(ColumnCache cache) {
    for (int i = 0; i < 200; i++) {
      ChunkKey other = ChunkKey.encoded(FILE.id(), i, 1);
      ReadContext context = new ReadContext(new CacheCounters());
      try (ChunkLoad load = cache.chunks().begin(other, 20_000, context)) {
        load.publish(ByteBuffer.allocate(20_000), 0);
      }
    }
  }

  @Test
  void pinOfOne_staysWhenTheOtherClears() {
    load(first);
    try (Pin pin = first.chunks().pool.pin(KEY)) {
      second.clear();
      overfill(second);
      assertTrue(Checksum.isRight(pin));
    }
  }

  /** Sums over those that have one pool go by what is said here of each figure. */
  @Test
  void figures_areOfThePoolOrOfEachProcess() {
    load(first);
    try (Pin pin = first.chunks().pool.pin(KEY)) {
      assertNotNull(pin);
      overfill(second);
      PoolStats ofFirst = first.poolStats();
      PoolStats ofSecond = second.poolStats();
      for (Figure figure : Figure.OF_POOL) {
        long one = figure.of(ofFirst);
        long other = figure.of(ofSecond);
        if (figure.owner == Figure.Owner.POOL) {
          assertTrue(one > 0 && one == other, figure + ": " + one + ", " + other);
        } else { // who has not pinned or evicted tells nothing of who has
          assertEquals(0, figure == Figure.EVICTIONS ? one : other, figure.name());
        }
      }
      assertTrue(ofFirst.pinnedBytes() >= 100 && ofSecond.evictions() > 0);
    }
  }

  @Test
  void settingsThatDoNotGoTogether_areNamed() {
    String[][] wrong = {
      {"spark.oap.pool.policy", "lru"},
      {"spark.oap.pool.tiers", "file:/tmp:64m"},
      {"spark.oap.pool.path", ""}
    };
    for (String[] setting : wrong) {
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> open(setting), setting[0]);
      assertTrue(e.getMessage().contains("spark.oap.pool.shared"), e.getMessage());
    }
  }
}
