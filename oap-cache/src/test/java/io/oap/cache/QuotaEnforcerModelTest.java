package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Quotas and minimums hold whatever happens in whatever order, also on many threads. */
class QuotaEnforcerModelTest extends QuotaFixture {

  /** Random tables, quotas, minimums, reads and changes, against a naive account. */
  @Test
  void randomSteps_asANaiveAccountSays() throws IOException {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("QuotaEnforcerModelTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    Account[] accounts = new Account[5];
    for (int table = 0; table < accounts.length; table++) {
      accounts[table] = new Account();
    }
    for (int step = 0; step < 2000; step++) {
      int table = random.nextInt(accounts.length);
      switch (random.nextInt(40)) {
        case 0 -> {
          accounts[table].quota = change(random, Kind.QUOTA, table, 60);
          accounts[table].sure.clear();
        }
        case 1 -> {
          accounts[table].minimum = change(random, Kind.MINIMUM, table, 16);
          accounts[table].sure.clear();
        }
        case 2 -> {
          cache.drop(file(2 * table).chunk(0, 0, 1).key().file());
          cache.drop(file(2 * table + 1).chunk(0, 0, 1).key().file());
          accounts[table].sure.clear();
        }
        case 3 -> {
          long bytes = CAPACITY / 2 + random.nextInt(CAPACITY / 2);
          pool.resize(bytes);
          cache.onResize();
          for (Account account : accounts) {
            account.sure.clear();
          }
        }
        case 4, 5, 6, 7 -> readAll(table, accounts[table]);
        default -> {
          Set<Integer> columns = new HashSet<>();
          for (int i = random.nextInt(6); i >= 0; i--) {
            columns.add(random.nextInt(COLUMNS));
          }
          int number = 2 * table + random.nextInt(2);
          readSome(random.nextInt(5) == 0, number, columns, accounts[table]);
        }
      }
      check(accounts, step);
    }
    assertFalse(counters.chunksHit() == 0 || counters.chunks(MissCause.NOT_ADMITTED) == 0);
  }

  @Test
  void manyThreads_keepToTheQuotas_andEnd() throws Exception {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("QuotaEnforcerModelTest: seed " + seed + " (-Doap.seed)");
    for (int number = 0; number < 10; number++) {
      file(number);
    }
    limit(Kind.QUOTA, 0, "10%");
    limit(Kind.QUOTA, 1, "20%");
    limit(Kind.MINIMUM, 1, "15%");
    limit(Kind.MINIMUM, 2, "40%");
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> ends = new ArrayList<>();
    for (int thread = 0; thread < 4; thread++) {
      Random random = new Random(seed + thread);
      ends.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 3000; i++) {
                  changeOrRead(random);
                }
                return null;
              }));
    }
    for (Future<?> end : ends) {
      end.get(5, TimeUnit.MINUTES);
    }
    threads.shutdown();
    assertEquals(null, cache.fault());
    assertTrue(held(0) <= CAPACITY / 10, () -> "held: " + held(0));
    assertTrue(held(1) <= CAPACITY / 5, () -> "held: " + held(1));
    readAll(2, new Account());
    readAll(4, new Account());
    assertTrue(held(2) > CAPACITY / 10 * 4 - MOST_LENGTH, () -> "held: " + held(2));
  }

  private void changeOrRead(Random random) throws IOException {
    int number = random.nextInt(10);
    SyntheticFile file = new SyntheticFile(number);
    switch (random.nextInt(200)) {
      case 0 -> cache.drop(file.chunk(0, 0, 1).key().file());
      case 1 -> {
        PoolShare share = PoolShare.parse(1 + random.nextInt(10) + "%");
        long version = 10 + random.nextInt(1000);
        String folder = folder(3 + random.nextInt(2));
        Kind kind = random.nextBoolean() ? Kind.QUOTA : Kind.MINIMUM;
        cache.limit(List.of(new QuotaRule(kind, folder, List.of(folder), share, version)));
      }
      default -> {
        int column = random.nextInt(COLUMNS);
        List<ChunkRequest> requests =
            List.of(file.chunk(column, 1_000_000L * column, length(number, column)));
        try (PinnedChunks held = cache.get(requests, file, new ReadContext(new CacheCounters()))) {
          file.assertHolds(requests, held);
        }
      }
    }
  }

  private static final class Account {
    PoolShare quota;
    PoolShare minimum;

    /** Read since something last changed. */
    final Map<ChunkKey, Long> sure = new HashMap<>();
  }

  private PoolShare change(Random random, Kind kind, int table, int most) {
    int part = 1 + random.nextInt(most);
    String[] texts = {null, part + "%", part * 1000 + ""};
    String text = texts[random.nextInt(texts.length)];
    limit(kind, table, text);
    return text == null ? null : PoolShare.parse(text);
  }

  private void readAll(int table, Account account) throws IOException {
    for (int column = 0; column < COLUMNS; column++) {
      readSome(false, 2 * table, Set.of(column), account);
      readSome(false, 2 * table + 1, Set.of(column), account);
    }
  }

  private void readSome(boolean isGuest, int number, Set<Integer> columns, Account account)
      throws IOException {
    List<ChunkRequest> requests = new ArrayList<>();
    columns.forEach(column -> requests.add(chunk(number, column, length(number, column))));
    try (PinnedChunks held =
        get(isGuest ? Admission.IF_FREE : Admission.EVICTING, requests, number)) {
      file(number).assertHolds(requests, held);
    }
    if (!isGuest) {
      requests.stream()
          .filter(one -> pool.isHeld(one.key()))
          .forEach(one -> account.sure.put(one.key(), (long) one.length()));
    }
  }

  private static int length(int number, int column) {
    return 1 + (number * 31 + column) * 7919 % MOST_LENGTH;
  }

  private void check(Account[] accounts, int step) {
    assertEquals(null, cache.fault());
    long capacity = pool.stats().capacityBytes();
    for (int table = 0; table < accounts.length; table++) {
      Account account = accounts[table];
      long held = held(table);
      String where = "table " + table + " at step " + step + ": " + held;
      long quota = account.quota == null ? capacity : account.quota.of(capacity);
      assertTrue(held <= quota, () -> where + " of at most " + quota);
      if (account.minimum != null && account.quota == null) {
        long read = account.sure.values().stream().mapToLong(Long::longValue).sum();
        long least = Math.min(read, account.minimum.of(capacity) - MOST_LENGTH);
        assertTrue(held >= least, () -> where + " of at least " + least);
      }
    }
  }
}
