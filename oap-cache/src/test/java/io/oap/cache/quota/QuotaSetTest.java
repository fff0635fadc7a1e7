package io.oap.cache.quota;

import static io.oap.cache.pool.Admission.EVICTING;
import static io.oap.cache.pool.Admission.IF_FREE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What belongs into a table's part: never more than there is room for, and what pays. */
class QuotaSetTest {
  private static final int LENGTH = 1000;

  private final long seed = Long.getLong("oap.seed", System.nanoTime());
  private final Random random = new Random(seed);
  private final Set<ChunkKey> held = new HashSet<>();

  private QuotaSet share(int chunks) {
    System.out.println("QuotaSetTest: seed " + seed + " (-Doap.seed)");
    return new QuotaSet((long) chunks * LENGTH, held::remove, held::contains);
  }

  private static ChunkKey key(int number) {
    return ChunkKey.encoded(new FileId(~number, number / 100), number % 100 / 10, number % 10);
  }

  /** Reads a chunk as a cache would; returns whether that was a hit. */
  private boolean read(QuotaSet share, int number) {
    ChunkKey key = key(number);
    if (held.contains(key)) {
      assertTrue(share.use(key));
      return true;
    }
    if (share.enter(key, LENGTH, EVICTING)) {
      held.add(key);
      share.onLoaded(key);
    }
    return false;
  }

  /** Reads chunks one after the other, but neighbours may change places, as tasks do; the hits. */
  private int round(QuotaSet share, int from, int count) {
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = from + i;
    }
    for (int i = 0; i < count; i++) {
      int other = Math.min(count - 1, i + random.nextInt(16));
      int number = order[i];
      order[i] = order[other];
      order[other] = number;
    }
    int hits = 0;
    for (int number : order) {
      hits += read(share, number) ? 1 : 0;
    }
    return hits;
  }

  @Test
  void chunkThatIsDroppedAndComesBackAtOnce_counts() {
    QuotaSet share = share(2);
    read(share, 0);
    // One thread drops it from the pool, another loads it again before the first says so.
    share.leaveIfGone(key(0));
    assertTrue(share.has(key(0)));
    assertEquals(LENGTH, share.bytes());
    held.remove(key(0));
    share.leaveIfGone(key(0));
    assertFalse(share.has(key(0)));
    assertEquals(0, share.bytes());
  }

  @Test
  void loopOverMuchMoreThanItsPart_hitsWhatBelongsToIt() {
    for (int times : new int[] {2, 4, 20}) {
      QuotaSet share = share(200);
      held.clear();
      round(share, 0, 200 * times);
      for (int i = 0; i < 10; i++) {
        int hits = round(share, 0, 200 * times);
        assertTrue(hits >= 180, () -> hits + " of 200 at " + times);
      }
    }
  }

  @Test
  void questions_areNoMisses() {
    QuotaSet share = share(200);
    round(share, 0, 800);
    for (int i = 0; i < 10; i++) {
      int hits = 0;
      for (int number = 0; number < 800; number++) {
        boolean wouldEnter = share.wouldEnter(key(number), LENGTH, EVICTING);
        assertEquals(wouldEnter, share.wouldEnter(key(number), LENGTH, EVICTING));
        boolean wasHeld = read(share, number);
        assertEquals(wouldEnter, share.has(key(number)));
        hits += wasHeld ? 1 : 0;
      }
      int found = hits;
      assertTrue(hits >= 180, () -> found + " of 200");
    }
  }

  @Test
  void questions_aboutRoom_areAnswered() {
    QuotaSet share = share(2);
    assertFalse(share.wouldEnter(key(0), 2 * LENGTH + 1, EVICTING));
    assertTrue(share.wouldEnter(key(0), 2 * LENGTH, IF_FREE));
    assertTrue(share.enter(key(0), 2 * LENGTH, IF_FREE));
    assertTrue(share.wouldEnter(key(0), 2 * LENGTH, IF_FREE));
    assertFalse(share.wouldEnter(key(1), LENGTH, IF_FREE));
    assertFalse(share.wouldEnter(key(1), LENGTH, EVICTING), "what is being loaded cannot leave");
    share.onLoaded(key(0));
    assertEquals(2 * LENGTH, share.bytes());
    assertTrue(share.has(key(0)));
  }

  @Test
  void whatIsReadOftenNow_comesIn_whateverWasReadOftenBefore() {
    QuotaSet share = share(200);
    for (int i = 0; i < 100; i++) {
      round(share, 0, 150);
    }
    assertEquals(150, round(share, 0, 150));
    for (int i = 0; i < 4; i++) {
      round(share, 1000, 150);
    }
    int hits = round(share, 1000, 150);
    assertTrue(hits >= 140, () -> hits + " of 150");
  }

  @Test
  void oneScan_displacesNothing() {
    QuotaSet share = share(200);
    round(share, 0, 200);
    assertEquals(200, round(share, 0, 200));
    assertEquals(0, round(share, 1000, 5000));
    assertEquals(200, round(share, 0, 200));
  }

  @Test
  void chunkThatIsLarger_andGuests_displaceNothing() {
    QuotaSet share = share(2);
    assertFalse(share.enter(key(0), 2 * LENGTH + 1, EVICTING));
    assertTrue(share.enter(key(0), LENGTH, IF_FREE));
    assertFalse(share.enter(key(1), LENGTH + 1, IF_FREE));
    assertTrue(share.enter(key(1), LENGTH, IF_FREE));
    assertEquals(2 * LENGTH, share.bytes());
  }

  @Test
  void whatIsBeingLoaded_cannotLeave() {
    QuotaSet share = share(2);
    assertTrue(share.enter(key(0), LENGTH, EVICTING) && share.enter(key(1), LENGTH, EVICTING));
    share.resize(LENGTH);
    assertTrue(share.has(key(0)) && share.has(key(1)));
    share.abandon(key(0), null, 0);
    share.onLoaded(key(1));
    share.abandon(key(1), null, 0);
    assertFalse(share.has(key(0)));
    assertTrue(share.has(key(1)));
    held.add(key(1));
    share.resize(0);
    assertEquals(Set.of(), held);
    assertEquals(0, share.bytes());
  }

  @Test
  void chunkThatDoesNotGetIntoThePool_givesItsPlaceBack() {
    QuotaSet share = share(2);
    read(share, 0);
    assertTrue(share.replace(key(0), key(1), 2 * LENGTH, IF_FREE));
    share.abandon(key(1), key(0), LENGTH);
    assertTrue(share.has(key(0)) && !share.has(key(1)));
    assertEquals(LENGTH, share.bytes());
    assertTrue(share.replace(key(0), key(1), 2 * LENGTH, IF_FREE));
    share.onLoaded(key(1));
    share.abandon(key(1), key(0), LENGTH);
    assertTrue(share.has(key(1)) && !share.has(key(0)), "it is in the pool");
    share.resize(0);
    assertEquals(0, share.bytes());
  }

  @Test
  void whatThePoolHasEvicted_takesNoPartForLong() {
    QuotaSet share = share(100);
    round(share, 0, 100);
    held.clear();
    round(share, 1000, 102);
    for (int i = 0; i < 100; i++) {
      assertFalse(share.has(key(i)), "it is not held");
    }
    assertTrue(share.bytes() > 0, "there was room again");
  }

  /** As when folders change their tables, and a chunk of one counts to the other by now. */
  @Test
  void partsThatTellEachOtherOfChunksThatLeave_doNotWaitForEachOther() throws Exception {
    CountDownLatch bothLeave = new CountDownLatch(2);
    QuotaSet[] shares = new QuotaSet[2];
    Thread[] threads = new Thread[2];
    for (int i = 0; i < 2; i++) {
      int other = 1 - i;
      Consumer<ChunkKey> out =
          key -> {
            bothLeave.countDown();
            try {
              assertTrue(bothLeave.await(30, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            shares[other].leaveIfGone(key);
          };
      shares[i] = new QuotaSet(LENGTH, out, held::contains);
      assertTrue(shares[i].enter(key(i), LENGTH, EVICTING));
      shares[i].onLoaded(key(i));
      QuotaSet share = shares[i];
      threads[i] = new Thread(() -> share.resize(0), "resizes part " + i);
      threads[i].setDaemon(true);
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join(30_000);
      assertFalse(thread.isAlive(), thread.getName());
    }
    assertEquals(0, shares[0].bytes() + shares[1].bytes());
  }

  /** Any steps in any order, against a list of what is in it. */
  @Test
  void randomSteps_asAModelSays() {
    System.out.println("QuotaSetTest: seed " + seed + " (-Doap.seed)");
    Model model = new Model();
    for (int step = 0; step < 20_000; step++) {
      ChunkKey key = key(random.nextInt(60));
      int length = 1 + random.nextInt(3000);
      switch (random.nextInt(8)) {
        case 0 -> model.leave(key);
        case 1 -> model.replace(key, length);
        case 2 -> model.abandon(key);
        case 3 -> model.resize(15_000 + random.nextInt(15_000));
        case 4 -> model.onLoaded(key);
        case 5 -> assertEquals(model.lengths.containsKey(key), model.share.use(key));
        default -> model.enter(key, length);
      }
      model.check();
    }
  }

  /** A part of the pool, and a list of what is in it. */
  private final class Model {
    final Map<ChunkKey, Integer> lengths = new HashMap<>();
    final Set<ChunkKey> loading = new HashSet<>();
    final QuotaSet share =
        new QuotaSet(
            20_000,
            key -> assertTrue(lengths.remove(key) != null && !loading.contains(key)),
            key -> !loading.contains(key));
    int budget = 20_000;

    void leave(ChunkKey key) {
      share.leave(key);
      lengths.remove(key);
      loading.remove(key);
    }

    void replace(ChunkKey key, int length) {
      ChunkKey other = new ChunkKey(key.file(), key.rowGroup(), key.column(), 1);
      boolean wasThere = lengths.containsKey(key) && !lengths.containsKey(other);
      if (share.replace(key, other, length, random.nextBoolean() ? EVICTING : IF_FREE)) {
        assertTrue(wasThere);
        lengths.remove(key);
        loading.remove(key);
        lengths.put(other, length);
        onLoaded(other);
      }
    }

    void abandon(ChunkKey key) {
      share.abandon(key, null, 0);
      if (loading.remove(key)) {
        lengths.remove(key);
      }
    }

    void resize(int bytes) {
      budget = bytes;
      share.resize(bytes);
    }

    void onLoaded(ChunkKey key) {
      loading.remove(key);
      share.onLoaded(key);
    }

    void enter(ChunkKey key, int length) {
      boolean wasThere = lengths.containsKey(key);
      if (share.enter(key, length, random.nextBoolean() ? EVICTING : IF_FREE)) {
        lengths.putIfAbsent(key, length);
        loading.add(key);
      } else {
        assertFalse(wasThere);
      }
    }

    void check() {
      assertEquals(lengths.keySet(), Set.copyOf(share.keys()));
      int sum = lengths.values().stream().mapToInt(Integer::intValue).sum();
      assertEquals(sum, share.bytes());
      int sumLoading = loading.stream().mapToInt(lengths::get).sum();
      assertTrue(sum <= Math.max(budget, sumLoading), "more than there is room for");
    }
  }
}
