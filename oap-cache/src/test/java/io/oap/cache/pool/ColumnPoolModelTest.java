package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.Reservation.Outcome;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random use of a pool: one thread against a naive map, and many threads against the contents. */
class ColumnPoolModelTest {

  private static final int KEYS = 100;
  private static final int CAPACITY = 1 << 20;

  /** Of each thread. Fewer where the machine is emulated. */
  private static final int OPERATIONS = Integer.getInteger("oap.test.operations", 3000);

  private static long seed() {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("ColumnPoolModelTest: seed " + seed + " (-Doap.seed)");
    return seed;
  }

  private static ChunkKey key(int k) {
    return ChunkKey.encoded(new FileId(k / 10, -k / 10), k % 3, k % 10);
  }

  /** Contents are a function of key and length, so that every read verifies itself. */
  private static byte contents(int k, long bytes, long at) {
    return (byte) (31 * k + 17 * bytes + 7 * at + (at >> 8));
  }

  private static Pin fillAndPublish(Reservation reservation, int k, int bytes) {
    long at = 0;
    for (int i = 0; i < reservation.pieces(); i++) {
      ByteBuffer piece = reservation.piece(i);
      while (piece.hasRemaining()) {
        piece.put(contents(k, bytes, at++));
      }
    }
    assertEquals(bytes, at);
    return reservation.publish();
  }

  private static void verify(Pin pin, int k) {
    long at = 0;
    for (int i = 0; i < pin.pieces(); i++) {
      ByteBuffer piece = pin.piece(i);
      for (; piece.hasRemaining(); at++) {
        byte found = piece.get();
        if (found != contents(k, pin.bytes(), at)) {
          assertEquals(contents(k, pin.bytes(), at), found, "chunk " + k + " at " + at);
        }
      }
    }
    assertEquals(pin.bytes(), at);
  }

  @Test
  void randomUse_agreesWithMap(@TempDir Path directory) {
    Random random = new Random(seed());
    for (int round = 0; round < 20; round++) {
      PoolOptions options =
          round % 2 == 0
              ? TestMedium.options(CAPACITY)
              : PoolOptions.inDirectory(CAPACITY, directory);
      try (ColumnPool pool = ColumnPool.open(options)) {
        useAgainstMap(pool, random);
        pool.validate();
      }
    }
  }

  private static void useAgainstMap(ColumnPool pool, Random random) {
    Map<Integer, Integer> published = new HashMap<>();
    List<Pin> pins = new ArrayList<>();
    List<Integer> pinned = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      int k = random.nextInt(KEYS);
      int choice = random.nextInt(100);
      if (choice < 45) {
        int bytes = 1 + random.nextInt(1 << random.nextInt(18));
        boolean held = pool.isHeld(key(k));
        try (Reservation reservation = pool.reserve(key(k), bytes)) {
          assertEquals(held, reservation.outcome() == Outcome.PRESENT);
          assertNotEquals(Outcome.LOADING, reservation.outcome());
          if (reservation.outcome() == Outcome.RESERVED && random.nextInt(10) > 0) {
            fillAndPublish(reservation, k, bytes).close();
            published.put(k, bytes);
          }
        }
      } else if (choice < 80) {
        boolean held = pool.isHeld(key(k));
        Pin pin = pool.pin(key(k));
        assertEquals(held, pin != null);
        if (pin != null) {
          assertEquals((long) published.get(k), pin.bytes());
          verify(pin, k);
          pins.add(pin);
          pinned.add(k);
        } else {
          assertTrue(!pinned.contains(k), "a pinned chunk was evicted");
        }
      } else if (choice < 97 && !pins.isEmpty()) {
        int j = random.nextInt(pins.size());
        verify(pins.get(j), pinned.get(j));
        pins.remove(j).close();
        pinned.remove(j);
      } else {
        boolean held = pool.isHeld(key(k));
        assertEquals(held, pool.drop(key(k)));
        if (pinned.contains(k)) {
          break; // its pins outlive it; the next pool starts afresh
        }
        published.remove(k);
      }
    }
    for (int j = 0; j < pins.size(); j++) {
      verify(pins.get(j), pinned.get(j));
      pins.get(j).close();
    }
  }

  @Test
  void manyThreads_seeOnlyRightContents_andLeakNothing() throws Exception {
    long seed = seed();
    try (ColumnPool pool = ColumnPool.open(TestMedium.options(CAPACITY))) {
      ExecutorService threads = Executors.newFixedThreadPool(8);
      List<Future<Long>> results = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        Random random = new Random(seed + t);
        Callable<Long> worker = () -> loadAndRead(pool, random);
        results.add(threads.submit(worker));
      }
      Random sizes = new Random(seed);
      for (int i = 0; i < 100 && !results.stream().allMatch(Future::isDone); i++) {
        pool.resize(CAPACITY + sizes.nextInt(CAPACITY));
        Thread.sleep(1); // so that the others get something done at this capacity
      }
      pool.resize(CAPACITY);
      long hits = 0;
      for (Future<Long> result : results) {
        hits += result.get();
      }
      threads.shutdown();
      PoolStats stats = pool.stats();
      assertEquals(CAPACITY, stats.capacityBytes());
      assertTrue(stats.usedBytes() <= CAPACITY, stats.toString());
      assertEquals(hits, stats.hits());
      assertTrue(hits > 0 && stats.evictions() > 0, stats.toString());
      assertEquals(0, stats.pinnedChunks());
      assertEquals(0, stats.pinnedBytes());
      pool.validate();
    }
  }

  private static long loadAndRead(ColumnPool pool, Random random) {
    long hits = 0;
    for (int i = 0; i < OPERATIONS; i++) {
      int k = Math.min(random.nextInt(KEYS), random.nextInt(KEYS));
      Pin pin = pool.pin(key(k));
      if (pin != null) {
        hits++;
      } else {
        int bytes = 1 + random.nextInt(60_000);
        try (Reservation reservation = pool.reserve(key(k), bytes)) {
          if (reservation.outcome() == Outcome.RESERVED && random.nextInt(20) > 0) {
            pin = fillAndPublish(reservation, k, bytes);
          }
        }
      }
      if (random.nextInt(50) == 0) {
        pool.drop(key(k));
      }
      if (pin != null) {
        verify(pin, k);
        pin.close();
      }
    }
    return hits;
  }

  @Test
  void closeWhileOthersUseIt_neverCrashes() throws Exception {
    long seed = seed();
    for (int round = 0; round < 20; round++) {
      ColumnPool pool = ColumnPool.open(TestMedium.options(CAPACITY));
      ExecutorService threads = Executors.newFixedThreadPool(2);
      List<Future<Long>> results = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        Random random = new Random(seed + t);
        results.add(threads.submit(() -> loadAndRead(pool, random)));
      }
      while (!closes(pool)) {
        Thread.onSpinWait();
      }
      for (Future<Long> result : results) {
        result.get();
      }
      threads.shutdown();
      assertEquals(0, pool.stats().chunks());
      pool.validate();
    }
  }

  private static boolean closes(ColumnPool pool) {
    try {
      pool.close();
      return true;
    } catch (PoolException e) {
      assertEquals(Errno.EBUSY, e.errno());
      return false;
    }
  }
}
