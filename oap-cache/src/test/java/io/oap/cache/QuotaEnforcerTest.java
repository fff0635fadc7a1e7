package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.quota.TablePins;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
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
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A table never has more of the pool than its quota, and others never push it below its minimum.
 */
class QuotaEnforcerTest {
  private static final int CAPACITY = 1 << 18;
  private static final int PART = CAPACITY / 64;
  private static final int MOST_LENGTH = PART;
  private static final int COLUMNS = 60;

  private final ColumnPool pool = RestingPool.open(CAPACITY);
  private final Map<FileId, KnownFile> known = new HashMap<>();
  private final ChunkCache cache = new ChunkCache(pool, 10_000, known::get, null);
  private final CacheCounters counters = new CacheCounters();
  private long version;

  @AfterEach
  void nothingIsLeftBehind() {
    cache.letGo(key -> true);
    RestingPool.close(pool);
  }

  /** Table i has the files 2i and 2i + 1, in a folder of its own. */
  private static String folder(int table) {
    return "file:/lake/t" + table;
  }

  private SyntheticFile file(int number) {
    FileIdentity identity =
        new FileIdentity(folder(number / 2) + "/part-" + number, 1 << 20, 1, "");
    known.put(
        new FileId(number, ~(long) number),
        new KnownFile(identity, List.of(), new long[0], new int[0]));
    return new SyntheticFile(number);
  }

  private ChunkRequest chunk(int number, int column, int length) {
    return file(number).chunk(column, 1_000_000L * column, length);
  }

  private void read(Admission admission, int number, int... columns) throws IOException {
    for (int column : columns) {
      List<ChunkRequest> requests = List.of(chunk(number, column, PART));
      try (PinnedChunks held = get(admission, requests, number)) {
        file(number).assertHolds(requests, held);
      }
    }
  }

  private PinnedChunks get(Admission admission, List<ChunkRequest> requests, int number)
      throws IOException {
    return cache.get(requests, file(number), new ReadContext(counters, admission, key -> false));
  }

  private void limit(Kind kind, int table, String share) {
    limit(kind, folder(table), share);
  }

  private void limit(Kind kind, String folder, String share) {
    PoolShare part = share == null ? null : PoolShare.parse(share);
    cache.limit(List.of(new QuotaRule(kind, folder, List.of(folder), part, ++version)));
    assertEquals(null, cache.fault());
  }

  private long held(int table) {
    return pool.snapshot().chunks().stream()
        .filter(chunk -> chunk.key().file().high() / 2 == table)
        .mapToLong(HeldKey::bytes)
        .sum();
  }

  private static int[] columns(int from, int to) {
    return IntStream.range(from, to).toArray();
  }

  @Test
  void tableAtItsQuota_displacesItsOwnChunksOnly() throws IOException {
    limit(Kind.QUOTA, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 40));
    read(Admission.EVICTING, 0, columns(0, 100));
    assertEquals(CAPACITY / 4, held(0));
    assertEquals(40 * PART, held(1));
    assertEquals(84, counters.chunks(MissCause.NOT_ADMITTED));
    CacheCounters before = new CacheCounters();
    before.add(counters);
    read(Admission.EVICTING, 0, columns(0, 100));
    assertEquals(16, counters.minus(before).chunksHit(), "a loop hits what fits in");
  }

  @Test
  void quotaThatChanges_countsForWhatIsThere() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 20));
    read(Admission.EVICTING, 1, columns(0, 20));
    limit(Kind.QUOTA, 0, "32k");
    assertEquals(8 * PART, held(0));
    limit(Kind.QUOTA, 0, null);
    read(Admission.EVICTING, 0, columns(0, 30));
    assertTrue(held(0) >= 30 * PART);
    cache.limit(
        List.of(
            new QuotaRule(
                Kind.QUOTA, folder(0), List.of(folder(0)), PoolShare.parse("1k"), version - 1)));
    assertTrue(held(0) >= 30 * PART, "an older version counts no more");
  }

  @Test
  void minimum_staysWhileOthersAreRead_andIsTheirsUntilItIsUsed() throws IOException {
    limit(Kind.MINIMUM, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 64));
    assertEquals(CAPACITY, held(1), "nothing is set aside");
    read(Admission.EVICTING, 0, columns(0, 16));
    read(Admission.EVICTING, 2, columns(64, 300));
    assertEquals(CAPACITY / 4, held(0));
    limit(Kind.MINIMUM, 0, null);
    read(Admission.EVICTING, 2, columns(300, 600));
    assertEquals(0, held(0));
    assertEquals(0, counters.chunksBypassed());
  }

  @Test
  void minimumThatComesLater_countsForWhatIsThere() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 16));
    limit(Kind.MINIMUM, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 300));
    assertEquals(CAPACITY / 4, held(0));
    cache.dropAll();
    assertEquals(0, pool.stats().usedBytes());
  }

  @Test
  void fourFifthsStayAtMost_andTheRestIsThereForOthers() throws IOException {
    limit(Kind.MINIMUM, 0, "100%");
    read(Admission.EVICTING, 0, columns(0, 64));
    assertEquals(CAPACITY, held(0));
    read(Admission.EVICTING, 2, columns(0, 64));
    assertEquals(CAPACITY / 5 * 4 / PART * PART, held(0));
    assertEquals(0, counters.chunksBypassed());
    assertEquals(TablePins.Outcome.TOO_MUCH, cache.kept.keep(chunk(2, 63, PART).key()));
  }

  @Test
  void foldersWithinFolders_countToTheNearest() throws IOException {
    limit(Kind.QUOTA, "file:/lake", "16k");
    limit(Kind.QUOTA, 1, "32k");
    for (int number = 0; number < 6; number++) {
      read(Admission.EVICTING, number, columns(0, 20));
    }
    assertEquals(4 * PART, held(0) + held(2));
    assertEquals(8 * PART, held(1));
    limit(Kind.QUOTA, 1, null);
    assertEquals(4 * PART, held(0) + held(1) + held(2));
  }

  @Test
  void guests_takeRoomWithinTheQuota_andAreSureOfNothing() throws IOException {
    limit(Kind.QUOTA, 0, "32k");
    limit(Kind.MINIMUM, 1, "32k");
    read(Admission.IF_FREE, 0, columns(0, 20));
    read(Admission.IF_FREE, 2, columns(0, 4));
    assertEquals(8 * PART, held(0));
    read(Admission.EVICTING, 4, columns(0, 200));
    assertEquals(0, held(1));
  }

  @Test
  void loadThatFails_countsToNobody() throws IOException {
    limit(Kind.QUOTA, 0, "16k");
    SyntheticFile broken =
        new SyntheticFile(
            0,
            ranges -> {
              throw new IOException("broken");
            });
    for (int column = 0; column < 10; column++) {
      List<ChunkRequest> requests = List.of(chunk(0, column, PART));
      try {
        cache.get(requests, broken, new ReadContext(counters)).close();
      } catch (IOException e) {
        assertEquals("broken", e.getMessage());
      }
    }
    read(Admission.EVICTING, 0, columns(10, 14));
    assertEquals(4 * PART, held(0));
  }

  /** Random tables, quotas, minimums, reads and changes, against a naive account. */
  @Test
  void randomSteps_asANaiveAccountSays() throws IOException {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("QuotaEnforcerTest: seed " + seed + " (-Doap.seed)");
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
    System.out.println("QuotaEnforcerTest: seed " + seed + " (-Doap.seed)");
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
