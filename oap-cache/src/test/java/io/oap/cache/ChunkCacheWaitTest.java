package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Readers that want the same chunks at the same time: one loads, the others wait. */
@Timeout(60)
class ChunkCacheWaitTest {
  private static final long LONG_MILLIS = 50_000;

  private final ColumnPool pool = RestingPool.open(1 << 20);
  private final CountDownLatch loading = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);

  /** A file whose reads stand still until {@link #goOn}. */
  private final SyntheticFile slow = new SyntheticFile(1, ranges -> standStill());

  private final ChunkRequest a = slow.chunk(0, 0, 1000);
  private final ChunkRequest b = slow.chunk(1, 1000, 2000);

  @AfterEach
  void nothingIsLeftBehind() {
    RestingPool.close(pool);
  }

  private void standStill() throws IOException {
    loading.countDown();
    try {
      goOn.await();
    } catch (InterruptedException e) {
      throw new InterruptedIOException("killed while reading");
    }
  }

  /** One call of get on a thread of its own, whose result is checked there. */
  private static final class Reader {
    final CacheCounters counters = new CacheCounters();
    private final FutureTask<Void> task;
    private final Thread thread;

    Reader(ChunkCache cache, SyntheticFile file, ChunkRequest... requests) {
      Callable<Void> get =
          () -> {
            try (PinnedChunks held =
                cache.get(List.of(requests), file, new ReadContext(counters))) {
              file.assertHolds(List.of(requests), held);
            }
            return null;
          };
      task = new FutureTask<>(get);
      thread = new Thread(task, "reader");
      thread.start();
    }

    /** Returns once the thread waits with a time limit, which is what waiting for a load is. */
    void awaitWaiting() {
      while (thread.getState() != Thread.State.TIMED_WAITING) {
        assertFalse(task.isDone(), "the reader did not wait");
        Thread.onSpinWait();
      }
    }

    void interrupt() {
      thread.interrupt();
    }

    void join() throws Exception {
      task.get(LONG_MILLIS, TimeUnit.MILLISECONDS);
      thread.join();
    }

    Throwable failure() {
      return assertThrows(ExecutionException.class, this::join).getCause();
    }

    List<Long> counted() {
      return List.of(counters.chunksHit(), counters.chunksMissed(), counters.chunksBypassed());
    }
  }

  @Test
  void manyReadersOfTheSameChunks_loadThemOnce() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    Reader loader = new Reader(cache, slow, a, b);
    loading.await();
    SyntheticFile untouched = new SyntheticFile(1);
    List<Reader> waiters = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      waiters.add(new Reader(cache, untouched, b, a));
    }
    waiters.forEach(Reader::awaitWaiting);
    goOn.countDown();
    loader.join();
    assertEquals(List.of(0L, 2L, 0L), loader.counted());
    for (Reader waiter : waiters) {
      waiter.join();
      assertEquals(List.of(2L, 0L, 0L), waiter.counted());
      assertEquals(3000, waiter.counters.bytesFromPool());
      assertEquals(0, waiter.counters.bytesFromFile());
    }
    assertEquals(List.of(), untouched.reads);
    assertEquals(2, pool.stats().publishes());
  }

  @Test
  void waiter_firstLoadsWhatOnlyItWants() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    Reader loader = new Reader(cache, slow, a);
    loading.await();
    SyntheticFile fast = new SyntheticFile(1);
    Reader waiter = new Reader(cache, fast, a, b);
    waiter.awaitWaiting();
    assertTrue(pool.isHeld(b.key()));
    goOn.countDown();
    loader.join();
    waiter.join();
    assertEquals(List.of(1L, 1L, 0L), waiter.counted());
    assertEquals(SyntheticFile.ranges(1000, 2000), fast.onlyRead());
  }

  @Test
  void waiterWhoseLoaderFails_readsItself() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    IOException failure = new IOException("disk");
    SyntheticFile failing =
        new SyntheticFile(
            1,
            ranges -> {
              standStill();
              throw failure;
            });
    Reader loader = new Reader(cache, failing, a, b);
    loading.await();
    SyntheticFile fast = new SyntheticFile(1);
    Reader waiter = new Reader(cache, fast, a, b);
    waiter.awaitWaiting();
    goOn.countDown();
    assertSame(failure, loader.failure());
    waiter.join();
    assertEquals(List.of(0L, 0L, 2L), waiter.counted());
    assertEquals(SyntheticFile.ranges(0, 3000), fast.onlyRead());
    assertFalse(pool.isHeld(a.key()));
  }

  @Test
  void waiterWhoseTimeRunsOut_readsItself_andTheLoadGoesOn() throws Exception {
    ChunkCache cache = new ChunkCache(pool, 1, id -> null, null, LowerTier.NONE);
    Reader loader = new Reader(cache, slow, a, b);
    loading.await();
    SyntheticFile fast = new SyntheticFile(1);
    Reader waiter = new Reader(cache, fast, a, b);
    waiter.join();
    assertEquals(List.of(0L, 0L, 2L), waiter.counted());
    assertEquals(SyntheticFile.ranges(0, 3000), fast.onlyRead());
    goOn.countDown();
    loader.join();
    assertTrue(pool.isHeld(a.key()) && pool.isHeld(b.key()));
  }

  @Test
  void loaderKilledWhileReading_leavesNothing_andItsWaiterReadsItself() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    Reader loader = new Reader(cache, slow, a, b);
    loading.await();
    SyntheticFile fast = new SyntheticFile(1);
    Reader waiter = new Reader(cache, fast, b);
    waiter.awaitWaiting();
    loader.interrupt();
    assertInstanceOf(InterruptedIOException.class, loader.failure());
    waiter.join();
    assertEquals(List.of(0L, 0L, 1L), waiter.counted());
    assertEquals(0, pool.stats().chunks());
    // The next one loads, without waiting for anybody.
    Reader next = new Reader(new ChunkCache(pool, 0, id -> null, null, LowerTier.NONE), fast, a, b);
    next.join();
    assertEquals(List.of(0L, 2L, 0L), next.counted());
  }

  @Test
  void waiterKilledWhileWaiting_keepsNoPin() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    new Reader(cache, new SyntheticFile(1), b).join();
    Reader loader = new Reader(cache, slow, a);
    loading.await();
    Reader waiter = new Reader(cache, new SyntheticFile(1), a, b);
    waiter.awaitWaiting();
    assertEquals(2, pool.stats().pinnedChunks(), "one being loaded, one pinned by the waiter");
    waiter.interrupt();
    assertInstanceOf(InterruptedIOException.class, waiter.failure());
    assertEquals(1, pool.stats().pinnedChunks());
    goOn.countDown();
    loader.join();
    assertNull(cache.fault());
  }

  @Test
  void chunkDroppedWhileLoading_reachesItsLoaderOnly() throws Exception {
    ChunkCache cache = new ChunkCache(pool, LONG_MILLIS, id -> null, null, LowerTier.NONE);
    Reader loader = new Reader(cache, slow, a);
    loading.await();
    SyntheticFile fast = new SyntheticFile(1);
    Reader waiter = new Reader(cache, fast, a);
    waiter.awaitWaiting();
    pool.clear();
    goOn.countDown();
    loader.join();
    waiter.join();
    assertEquals(List.of(0L, 0L, 1L), waiter.counted());
    assertFalse(pool.isHeld(a.key()));
  }
}
