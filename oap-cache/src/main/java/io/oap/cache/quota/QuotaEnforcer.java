package io.oap.cache.quota;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The quotas and minimums of tables in this process. They are about files: to whom a chunk counts
 * follows from where its file lies, whoever reads it. Chunks of a file that is not known count to
 * nobody, until it is. Thread-safe; while nothing is limited, calls cost a look at one field.
 */
public final class QuotaEnforcer {
  private static final Logger LOG = LoggerFactory.getLogger(QuotaEnforcer.class);

  /** Files remembered before all are looked up again: a few megabytes of heap. */
  private static final int MOST_FILES = 1 << 15;

  private static final FileLimits NONE = new FileLimits(null, null);

  /** What a file counts to; null where it counts to nothing. */
  private record FileLimits(QuotaSet quota, MinimumPins minimum) {}

  /**
   * What is limited now, and what was looked up of it.
   *
   * @param versions last version of each limit, by kind and account
   */
  private record Limits(
      Map<List<Object>, Long> versions,
      Map<String, Limited<QuotaSet>> quotas,
      Map<String, Limited<MinimumPins>> minimums,
      Map<String, QuotaSet> quotaOf,
      Map<String, MinimumPins> minimumOf,
      ConcurrentMap<FileId, FileLimits> byFile) {

    boolean isEmpty() {
      return quotaOf.isEmpty() && minimumOf.isEmpty();
    }
  }

  private record Limited<T>(QuotaRule limit, T chunks) {}

  private final ColumnPool pool;
  private final PinnedSet pinned;
  private final Function<FileId, KnownFile> files;
  private final Consumer<ChunkKey> drop;
  private volatile Limits limits = limits(Map.of(), Map.of(), Map.of());

  /**
   * @param files what a file id stands for, or null where that is not known
   * @param drop drops a chunk that is over its table's quota
   */
  public QuotaEnforcer(
      ColumnPool pool,
      PinnedSet pinned,
      Function<FileId, KnownFile> files,
      Consumer<ChunkKey> drop) {
    this.pool = pool;
    this.pinned = pinned;
    this.files = files;
    this.drop = drop;
  }

  private static Limits limits(
      Map<List<Object>, Long> versions,
      Map<String, Limited<QuotaSet>> quotas,
      Map<String, Limited<MinimumPins>> minimums) {
    return new Limits(
        versions,
        quotas,
        minimums,
        byFolder(quotas),
        byFolder(minimums),
        new ConcurrentHashMap<>());
  }

  /** Of limits on the same folder, that of the last version counts. */
  private static <T> Map<String, T> byFolder(Map<String, Limited<T>> limited) {
    Map<String, T> byFolder = new HashMap<>();
    limited.values().stream()
        .sorted((a, b) -> Long.compare(a.limit().version(), b.limit().version()))
        .forEach(
            one -> one.limit().folders().forEach(folder -> byFolder.put(folder, one.chunks())));
    return byFolder;
  }

  /** Limits tables, besides those that are limited already. Older versions are passed over. */
  public void limit(List<QuotaRule> told) {
    if (told.stream().anyMatch(this::isNew)) {
      change(told);
    }
  }

  private boolean isNew(QuotaRule limit) {
    Long version = limits.versions().get(List.of(limit.kind(), limit.account()));
    return version == null || version < limit.version();
  }

  private synchronized void change(List<QuotaRule> told) {
    Limits before = limits;
    Map<List<Object>, Long> versions = new HashMap<>(before.versions());
    Map<String, Limited<QuotaSet>> quotas = new HashMap<>(before.quotas());
    Map<String, Limited<MinimumPins>> minimums = new HashMap<>(before.minimums());
    for (QuotaRule limit : told) {
      if (isNew(limit)) {
        versions.put(List.of(limit.kind(), limit.account()), limit.version());
        if (limit.kind() == Kind.QUOTA) {
          put(quotas, limit, this::newQuota);
        } else {
          put(minimums, limit, this::newMinimum);
        }
      }
    }
    limits = limits(versions, quotas, minimums);
    before.minimums().forEach((account, old) -> releaseIfGone(old, minimums.get(account)));
    onResize();
    if (!limits.quotaOf().equals(before.quotaOf())
        || !limits.minimumOf().equals(before.minimumOf())) {
      assign();
    }
  }

  private <T> void put(
      Map<String, Limited<T>> limited, QuotaRule limit, Function<QuotaRule, T> fresh) {
    Limited<T> before = limited.remove(limit.account());
    if (limit.share() != null) {
      T chunks = before == null ? fresh.apply(limit) : before.chunks();
      limited.put(limit.account(), new Limited<>(limit, chunks));
    }
  }

  private QuotaSet newQuota(QuotaRule limit) {
    return new QuotaSet(bytes(limit), drop, pool::isHeld);
  }

  private MinimumPins newMinimum(QuotaRule limit) {
    return new MinimumPins(pinned, bytes(limit));
  }

  private long bytes(QuotaRule limit) {
    return limit.share().of(pool.stats().capacityBytes());
  }

  private static void releaseIfGone(Limited<MinimumPins> before, Limited<MinimumPins> now) {
    if (now == null) {
      before.chunks().resize(0);
    }
  }

  /** Fits all limits to the pool's new capacity. */
  public synchronized void onResize() {
    limits.quotas().values().forEach(one -> one.chunks().resize(bytes(one.limit())));
    limits.minimums().values().forEach(one -> one.chunks().resize(bytes(one.limit())));
  }

  /** Counts each chunk to whom it belongs now. */
  private void assign() {
    for (Limited<QuotaSet> one : limits.quotas().values()) {
      QuotaSet quota = one.chunks();
      leave(quota.keys(), key -> of(key).quota() != quota, quota::leave);
    }
    for (Limited<MinimumPins> one : limits.minimums().values()) {
      MinimumPins minimum = one.chunks();
      leave(minimum.keys(), key -> of(key).minimum() != minimum, minimum::leave);
    }
    if (!limits.isEmpty()) {
      for (HeldKey held : heldIfTold()) {
        use(held.key(), held.bytes(), Admission.EVICTING);
      }
    }
  }

  /** All chunks; none where they are too many for a list: each counts when it is read next. */
  private List<HeldKey> heldIfTold() {
    try {
      return pool.snapshot().chunks();
    } catch (RuntimeException | OutOfMemoryError e) {
      LOG.warn(
          "Chunks count to the limits of their tables when they are read next: {}", e.toString());
      return List.of();
    }
  }

  private static void leave(
      List<ChunkKey> keys, Predicate<ChunkKey> which, Consumer<ChunkKey> leave) {
    keys.stream().filter(which).forEach(leave);
  }

  private FileLimits of(ChunkKey key) {
    Limits now = limits;
    if (now.isEmpty()) {
      return NONE;
    }
    FileLimits known = now.byFile().get(key.file());
    if (known != null) {
      return known;
    }
    KnownFile file = files.apply(key.file());
    if (file == null) {
      return NONE;
    }
    if (now.byFile().size() >= MOST_FILES) {
      now.byFile().clear();
    }
    String path = file.identity().path();
    FileLimits found = new FileLimits(nearest(now.quotaOf(), path), nearest(now.minimumOf(), path));
    now.byFile().put(key.file(), found.equals(NONE) ? NONE : found);
    return found;
  }

  private static <T> T nearest(Map<String, T> byFolder, String path) {
    T found = byFolder.get(path);
    for (int end = path.lastIndexOf('/'); found == null && end >= 0; ) {
      found = byFolder.get(path.substring(0, end));
      end = path.lastIndexOf('/', end - 1);
    }
    return found;
  }

  /**
   * Notes a use of a chunk that the pool holds.
   *
   * @param admission EVICTING: it may take the place of others in what is sure to its table
   */
  public void use(ChunkKey key, long length, Admission admission) {
    FileLimits to = of(key);
    if (isOver(to.quota(), key, length)) {
      drop.accept(key);
    } else if (to.minimum() != null && admission == Admission.EVICTING) {
      to.minimum().use(key, length);
    }
  }

  /** Whether a chunk must not stay, which counts to the quota, but came in before anybody knew. */
  private static boolean isOver(QuotaSet quota, ChunkKey key, long length) {
    return quota != null && !quota.use(key) && !quota.adopt(key, length);
  }

  /**
   * Admits a chunk that is to be loaded, if its table has room for it. {@link #onLoaded} or {@link
   * #abandon} must follow where it has.
   *
   * @param insteadOf the chunk that it stands for and whose place it takes; or null
   * @param admission EVICTING: others of its table may have to go for it
   */
  public boolean admit(ChunkKey key, ChunkKey insteadOf, long length, Admission admission) {
    QuotaSet quota = of(key).quota();
    if (quota == null || admission == Admission.NEVER) {
      return admission != Admission.NEVER;
    }
    return insteadOf == null
        ? quota.enter(key, length, admission)
        : quota.replace(insteadOf, key, length, admission);
  }

  /** Whether {@link #admit} would admit a chunk now, that stands for no other. Counts nothing. */
  public boolean wouldAdmit(ChunkKey key, long length, Admission admission) {
    QuotaSet quota = of(key).quota();
    return admission != Admission.NEVER
        && (quota == null || quota.wouldEnter(key, length, admission));
  }

  /** Whether another chunk may take the place of this one, if there is room for it then. */
  public boolean isPlaced(ChunkKey key) {
    QuotaSet quota = of(key).quota();
    return quota == null || quota.has(key);
  }

  /**
   * Counts a chunk that was admitted and is in the pool now.
   *
   * @param insteadOf the chunk whose place it takes, which is still there; or null
   */
  public void onLoaded(ChunkKey key, ChunkKey insteadOf, long length, Admission admission) {
    FileLimits to = of(key);
    if (to.quota() != null) {
      to.quota().onLoaded(key);
    }
    if (isOver(to.quota(), key, length)) {
      drop.accept(key);
    } else if (to.minimum() != null && (insteadOf != null || admission == Admission.EVICTING)) {
      to.minimum().load(key, insteadOf, length);
    }
  }

  /**
   * Takes back the admission of a chunk that did not get into the pool; does nothing to others.
   *
   * @param insteadOf the chunk whose place it was to take, which counts again; or null
   * @param insteadOfLength length of that one
   */
  public void abandon(ChunkKey key, ChunkKey insteadOf, long insteadOfLength) {
    QuotaSet quota = of(key).quota();
    if (quota != null) {
      quota.abandon(key, insteadOf, insteadOfLength);
    }
  }

  /** Takes out a chunk that was dropped from the pool. */
  public void leave(ChunkKey key) {
    QuotaSet quota = of(key).quota();
    if (quota != null) {
      quota.leaveIfGone(key);
    }
  }

  /** Takes out all such chunks. */
  public void leave(Predicate<ChunkKey> which) {
    limits.quotas().values().stream()
        .map(Limited::chunks)
        .forEach(quota -> leave(quota.keys(), which, quota::leaveIfGone));
  }
}
