package io.oap.cache.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.common.FileId;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the footer cache holds, and how it answers loads that fail. */
class MetadataCacheTest {
  private static final int CAPACITY = 1 << 20;
  private static final FileId FILE = new FileId(1, 2);

  private final MetadataCache cache = new MetadataCache(CAPACITY);

  private static byte[] mustNotLoad() throws IOException {
    throw new IOException("this is held");
  }

  private void put(long offset, int bytes) throws IOException {
    assertEquals(bytes, cache.structure(FILE, offset, () -> new byte[bytes]).length);
  }

  private boolean isHeld(long offset) {
    try {
      cache.structure(FILE, offset, MetadataCacheTest::mustNotLoad);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void secondGet_loadsNothing() throws IOException {
    byte[] bytes = {1, 2, 3};
    assertSame(bytes, cache.structure(FILE, 10, () -> bytes));
    assertSame(bytes, cache.structure(FILE, 10, MetadataCacheTest::mustNotLoad));
    assertTrue(isHeld(10));
    assertTrue(!isHeld(11));
    cache.clear();
    assertTrue(!isHeld(10));
    assertEquals(0, cache.size());
  }

  @Test
  void weight_isBounded_theLeastRecentlyUsedGoesFirst() throws IOException {
    for (int i = 0; i < 1000; i++) {
      put(i, 10_000);
      assertTrue(isHeld(0), "used all the time");
      assertTrue(cache.size() * 10_000 <= CAPACITY);
    }
    assertTrue(isHeld(999));
    assertTrue(!isHeld(1));
    assertTrue(cache.size() * 10_000 > CAPACITY / 2, "most of the capacity is in use");
  }

  @Test
  void smallEntries_weighMoreThanTheirBytes() throws IOException {
    for (int i = 0; i < 50_000; i++) {
      put(i, 1);
    }
    assertTrue(cache.size() < 10_000, "heap of keys and map entries counts too");
  }

  @Test
  void entryThatFillsMostOfTheCapacity_isHeld() throws IOException {
    put(0, CAPACITY / 10 * 9);
    assertTrue(isHeld(0));
  }

  @Test
  void entryLargerThanTheCapacity_isReturned_andNotHeld() throws IOException {
    put(0, CAPACITY + 1);
    assertTrue(!isHeld(0));
  }

  @Test
  void footerOfMoreThanAnyCapacity_isReturned_andNotHeld() throws IOException {
    MetadataCache.Footer footer = () -> 2_000L * 1_000 * 1_200;
    put(0, 5);
    assertSame(footer, cache.footer(FILE, () -> footer));
    assertEquals(1, cache.size());
    assertTrue(isHeld(0));
  }

  @Test
  void loadThatFails_isForgotten() throws IOException {
    IOException failure = new IOException("disk");
    assertSame(
        failure,
        assertThrows(
            IOException.class,
            () ->
                cache.structure(
                    FILE,
                    0,
                    () -> {
                      throw failure;
                    })));
    put(0, 5);
    assertTrue(isHeld(0));
  }

  @Test
  void loadThatFails_isNotHeardOfByOthers() throws Exception {
    CountDownLatch loading = new CountDownLatch(1);
    CountDownLatch fail = new CountDownLatch(1);
    FutureTask<byte[]> failing =
        new FutureTask<>(
            () ->
                cache.structure(
                    FILE,
                    0,
                    () -> {
                      loading.countDown();
                      try {
                        fail.await();
                      } catch (InterruptedException e) {
                        throw new IOException(e);
                      }
                      throw new IOException("its task was killed");
                    }));
    Thread thread = new Thread(failing, "failing loader");
    thread.start();
    loading.await();
    byte[] bytes = {7};
    assertArrayEquals(bytes, cache.structure(FILE, 0, () -> bytes));
    fail.countDown();
    assertThrows(ExecutionException.class, () -> failing.get(30, TimeUnit.SECONDS));
    thread.join();
    assertTrue(isHeld(0));
  }
}
