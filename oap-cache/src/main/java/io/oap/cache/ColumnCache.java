package io.oap.cache;

import static java.util.stream.Collectors.toSet;

import com.google.common.collect.Sets;
import io.oap.cache.file.FileNames;
import io.oap.cache.file.KnownFiles;
import io.oap.cache.file.MetadataCache;
import io.oap.cache.file.NamesOfOthers;
import io.oap.cache.model.CapacityEstimates;
import io.oap.cache.model.CapacityModel;
import io.oap.cache.numa.NodeMemory;
import io.oap.cache.numa.NumaBinding;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.MemoryRange;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolException;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.PoolSnapshot;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.TablePins;
import io.oap.common.ChunkKey;
import io.oap.common.EntryKind;
import io.oap.common.FileId;
import io.oap.common.OapConfig;
import io.oap.common.PoolTiers;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Everything one process caches: column chunks in the pool, footers on the heap. Thread-safe. */
public final class ColumnCache implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ColumnCache.class);

  private final NumaBinding numa;
  private final PoolOptions options;
  private final ColumnPool pool;
  private final LowerTier tier;
  private final ChunkCache chunks;
  private final VectorChunks vectors;
  private final OwnedChunks owned;
  private final HandedChunks handed;
  private final MetadataCache footers;
  private final KnownFiles files;

  /** Null where the pool goes with the process. */
  private final FileNames names;

  private final NamesOfOthers othersNames;

  /** Null where there is no memory or no thread for it. */
  private final CapacityModel model;

  /** Held while the pool, and then all that goes by its capacity, gets another one. */
  private final Object resizing = new Object();

  /**
   * Opens the cache that a configuration describes.
   *
   * @param lookup text of a configuration key, or null when it is not set
   * @throws IllegalArgumentException naming the key, when a value is not allowed
   * @throws io.oap.cache.pool.PoolException when the pool cannot be had
   */
  public static ColumnCache open(Function<String, String> lookup) {
    long footerSize = OapConfig.CACHE_FOOTER_SIZE.get(lookup);
    long loadTimeout = OapConfig.CACHE_LOAD_TIMEOUT.get(lookup);
    PoolOptions options = PoolOptions.of(lookup);
    PoolTiers tiers = OapConfig.POOL_TIERS.get(lookup);
    NumaBinding numa = NumaBinding.of(lookup);
    try {
      return new ColumnCache(numa, options, tiers, loadTimeout, footerSize);
    } catch (Throwable e) {
      numa.close();
      throw e;
    }
  }

  private ColumnCache(
      NumaBinding numa,
      PoolOptions wanted,
      PoolTiers tiers,
      long loadTimeoutMillis,
      long footerSize) {
    this.numa = numa;
    ColumnPool near = numa.openPool(wanted);
    this.options = near == null ? wanted : wanted.preferring(numa.nodes());
    this.pool = near == null ? openPool(wanted) : near;
    this.tier = LowerTier.open(tiers, pool);
    this.files = new KnownFiles(this::heldFiles);
    this.model = modelOf(pool, options);
    this.chunks = new ChunkCache(pool, loadTimeoutMillis, files::get, model, tier);
    this.vectors = new VectorChunks(pool, chunks);
    this.owned = new OwnedChunks(pool, chunks);
    this.handed = new HandedChunks(pool, chunks, files);
    this.footers = new MetadataCache(footerSize);
    this.names = pool.origin == null ? null : new FileNames(pool.origin.names());
    this.othersNames =
        new NamesOfOthers(pool.origin == null ? List.of() : pool.origin.othersNames());
    if (names != null) {
      files.keep(names);
    }
    files.learn(othersNames.next());
  }

  /** A pool that cannot be kept for the next process is opened without that. */
  private static ColumnPool openPool(PoolOptions options) {
    try {
      ColumnPool pool = ColumnPool.open(options);
      if (pool.origin != null) {
        LOG.info("The column chunk pool is {}", pool.origin.inWords());
      }
      return pool;
    } catch (PoolException e) {
      if (options.keepSeconds() == 0 || options.shared()) { // each would have all of its size
        throw e;
      }
      ColumnPool pool = ColumnPool.open(options.withReopening(0));
      LOG.warn("{}. The pool is opened without spark.oap.pool.reopen.", e.getMessage());
      return pool;
    }
  }

  private static CapacityModel modelOf(ColumnPool pool, PoolOptions options) {
    try {
      return CapacityModel.open(options.policy(), pool.stats().capacityBytes());
    } catch (PoolException e) {
      LOG.warn("{}; queries go on, without advice on it.", e.getMessage());
      return null;
    }
  }

  /** What the pool would hit with more or less room; null where that is not known. */
  public CapacityEstimates estimates() {
    return model == null ? null : model.estimates();
  }

  /** Sets what tables may have of the pool and are sure of, besides what was set before. */
  public void limit(List<QuotaRule> limits) {
    chunks.limit(limits);
  }

  /** The chunks that stay until somebody lets go of them. */
  public TablePins kept() {
    return chunks.kept;
  }

  /**
   * What came of a check of all chunks.
   *
   * @param chunks looked at
   * @param damaged of those: their bytes were not those they had been published with, and they were
   *     dropped
   */
  public record Verified(long chunks, long bytes, long damaged, long damagedBytes) {}

  /** Reads the chunks that are held now of some files, and drops those whose bytes have changed. */
  public Verified verify(Predicate<FileId> files) {
    long count = 0;
    long bytes = 0;
    long damaged = 0;
    long damagedBytes = 0;
    long alreadyDamaged = pool.stats().damaged();
    for (PoolSnapshot.HeldKey held : snapshot().chunks()) {
      if (!files.test(held.key().file())) {
        continue;
      }
      try (Pin pin = pool.pinUnused(held.key())) {
        long foundDamaged = pin == null ? pool.stats().damaged() : alreadyDamaged;
        if (pin == null && foundDamaged == alreadyDamaged) {
          continue; // has left meanwhile
        }
        alreadyDamaged = foundDamaged; // the pool looks itself at chunks of a former process
        count++;
        bytes += held.bytes();
        if (pin == null || !Checksum.isRight(pin)) {
          damaged++;
          damagedBytes += held.bytes();
          chunks.drop(held.key());
          if (held.key().kind() == EntryKind.CACHED_BATCH) {
            owned.doubt(); // it stays with its owner, who finds out
          }
        }
      }
    }
    return new Verified(count, bytes, damaged, damagedBytes);
  }

  public ChunkCache chunks() {
    return chunks;
  }

  public VectorChunks vectors() {
    return vectors;
  }

  /** The vector chunks of whoever has no file to read them from again. */
  public OwnedChunks owned() {
    return owned;
  }

  public MetadataCache footers() {
    return footers;
  }

  /** How chunks come from and go to the pools of other processes. */
  public HandedChunks handed() {
    return handed;
  }

  /** How the pool was made; its capacity may have changed since. */
  public PoolOptions poolOptions() {
    return options;
  }

  /** Where the pool's memory lies, as {@link ColumnPool#bytesOnNodes} says. */
  public SortedMap<Integer, Long> bytesOnNodes() {
    return pool.bytesOnNodes();
  }

  /** The memory nodes that this process keeps to. */
  public NumaBinding numa() {
    return numa;
  }

  /** How all memory of this process lies on memory nodes. Takes long in a large process. */
  public NodeMemory memoryOnNodes() {
    return NodeMemory.now(MemoryRange.of(pool));
  }

  /** Changes the pool's capacity, as {@link ColumnPool#resize} says. */
  public void resize(long bytes) {
    synchronized (resizing) {
      pool.resize(bytes);
      if (model != null) {
        model.resize(pool.stats().capacityBytes());
      }
      chunks.onResize();
    }
  }

  /** The files that keys of the pool stand for. */
  public KnownFiles files() {
    return files;
  }

  private Set<FileId> heldFiles() {
    return pool.snapshot().allChunks().stream().map(chunk -> chunk.key().file()).collect(toSet());
  }

  /** A number that grows whenever the pool takes in or gives up a chunk. */
  public long contentVersion() {
    return pool.contentVersion();
  }

  /** The chunks that the pool holds now. */
  public PoolSnapshot snapshot() {
    PoolSnapshot snapshot = pool.snapshot();
    files.learn(othersNames.next()); // written before any chunk of theirs was loaded
    return snapshot;
  }

  /** The home of the pool that other processes have, too, or may; null: it is this one's alone. */
  public Path sharedHome() {
    return pool.origin == null || pool.origin.member() < 0 ? null : pool.origin.home();
  }

  /** Drops all chunks of a file; returns how many there were. */
  public long drop(FileId file) {
    chunks.loaded.forget(file);
    return chunks.drop(file);
  }

  /**
   * Drops all chunks of some row groups; returns how many there were.
   *
   * @param rowGroups ordinals of row groups, by file
   */
  public long drop(Map<FileId, BitSet> rowGroups) {
    long dropped = 0;
    for (PoolSnapshot.HeldKey held : pool.snapshot().chunks()) {
      BitSet some = rowGroups.get(held.key().file());
      if (some != null && some.get(held.key().rowGroup()) && chunks.drop(held.key())) {
        dropped++;
      }
    }
    return dropped;
  }

  /**
   * Has the chunks of some files leave before all others, once others need their room. Those that
   * were kept for a pinned table are kept no more.
   */
  public void leaveFirst(Set<FileId> files) {
    chunks.kept.release((ChunkKey key) -> files.contains(key.file()));
    chunks.leaving.add(heldOf(files));
  }

  /** The files out of these of which the pool holds chunks; all, where it cannot list them. */
  private Set<FileId> heldOf(Set<FileId> files) {
    if (files.isEmpty()) {
      return files; // most often, and a list of all chunks costs much
    }
    try {
      return Sets.intersection(files, heldFiles()).immutableCopy();
    } catch (RuntimeException | OutOfMemoryError e) {
      LOG.debug("Files leave of which the pool may hold nothing", e);
      return files;
    }
  }

  /** Figures of the pool and of the tier below it. */
  public PoolStats poolStats() {
    return tier.addTo(pool.stats());
  }

  /** Empties the cache; chunks that are pinned now go when their last pin ends. */
  public void clear() {
    chunks.loaded.clear();
    chunks.dropAll();
    footers.clear();
  }

  /**
   * Gives the pool's memory back.
   *
   * @throws io.oap.cache.pool.PoolException when a chunk is still pinned
   */
  @Override
  public void close() {
    chunks.letGo(key -> true);
    if (names != null) {
      names.close();
    }
    tier.close();
    pool.close();
    if (model != null) {
      model.close();
    }
    numa.close();
  }
}
