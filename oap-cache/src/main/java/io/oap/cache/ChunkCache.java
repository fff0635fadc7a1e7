package io.oap.cache;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.cache.file.FileRanges;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.model.CapacityModel;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.quota.PinnedSet;
import io.oap.cache.quota.QuotaEnforcer;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.TablePins;
import io.oap.cache.stats.ChunkAccess;
import io.oap.cache.stats.LoadedChunks;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Column chunks by key: from the pool when it holds them, else loaded into it once, else read
 * around it. Thread-safe.
 *
 * <p>A request ends in one of four ways. <em>Hit</em>: the chunk is pinned where it lies.
 * <em>Miss</em>: this caller reserves room, reads the file and publishes. <em>Wait</em>: another
 * caller is loading the chunk; after that it is a hit, or a bypass when the load failed or took
 * longer than the time allowed. <em>Bypass</em>: the pool has no room for the chunk, and the bytes
 * go to the caller only. A caller finishes all its own loads before it waits for anybody, so that
 * two callers can never wait for each other.
 *
 * <p>The pool may fail in any way without failing a request: the first fault is logged, and from
 * then on everything is read around it.
 */
public final class ChunkCache {
  private static final Logger LOG = LoggerFactory.getLogger(ChunkCache.class);

  /** Chunks remembered as wanted in part: a few megabytes of heap. */
  private static final int ASKED_IN_PART = 1 << 15;

  final ColumnPool pool;
  final long loadTimeoutMillis;

  /** Loads that have begun; each latch opens when its load has ended, well or not. */
  final ConcurrentMap<ChunkKey, CountDownLatch> loads = new ConcurrentHashMap<>();

  /** Why chunks are loaded again. */
  public final LoadedChunks loaded;

  public final TablePins kept;
  final QuotaEnforcer quotas;
  final LeavingFiles leaving = new LeavingFiles(this);
  final PinnedSet pinned;
  final LowerTier tier;

  /** Is told what readers ask for; null where there is none. */
  private final CapacityModel model;

  private final Cache<ChunkKey, Boolean> askedInPart =
      CacheBuilder.newBuilder().maximumSize(ASKED_IN_PART).build();
  private final AtomicReference<Throwable> fault = new AtomicReference<>();

  /**
   * @param pool where chunks are kept; the caller closes it
   * @param loadTimeoutMillis how long to wait for another caller's load of the same chunk
   * @param files what a file id stands for, or null where that is not known
   * @param model is told what readers ask for; may be null
   * @param tier below the pool; the caller closes it
   */
  ChunkCache(
      ColumnPool pool,
      long loadTimeoutMillis,
      Function<FileId, KnownFile> files,
      CapacityModel model,
      LowerTier tier) {
    this.pool = pool;
    this.tier = tier;
    this.model = model;
    this.loaded = new LoadedChunks(files);
    this.pinned = new PinnedSet(pool);
    this.kept = new TablePins(pinned, files);
    this.quotas = new QuotaEnforcer(pool, pinned, files, this::dropFromPool);
    this.loadTimeoutMillis = loadTimeoutMillis;
  }

  /** Notes a use of a chunk that the pool holds, and keeps it if its reader does. */
  void onHit(ChunkKey key, long bytes, ReadContext context) {
    try {
      quotas.use(key, bytes, context.admission());
      keepIfWanted(key, context);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /**
   * Counts a published chunk to its table, and keeps it if its reader does.
   *
   * @param insteadOf the chunk whose place it takes, which is still there; or null
   */
  void onLoaded(ChunkKey key, ChunkKey insteadOf, long bytes, ReadContext context) {
    quotas.onLoaded(key, insteadOf, bytes, context.admission());
    keepIfWanted(key, context);
  }

  private void keepIfWanted(ChunkKey key, ReadContext context) {
    if (context.keeps().test(key)) {
      kept.keep(key);
    }
  }

  /** Sets what tables may have and are sure of, besides what was set before. */
  public void limit(List<QuotaRule> rules) {
    try {
      quotas.limit(rules);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /** Fits pins and quotas to the pool's new capacity. */
  public void onResize() {
    pinned.onResize();
    kept.onResize();
    quotas.onResize();
  }

  /**
   * Drops a chunk: nobody finds it any more, and its memory is free when nobody reads it any more.
   * All that is dropped, is dropped by this or by those below, so that whoever keeps it lets go.
   *
   * @return whether the pool had it
   */
  public boolean drop(ChunkKey key) {
    boolean dropped = dropFromPool(key);
    tier.drop(key);
    return dropped;
  }

  /** Drops a chunk that may come back from the tier below the pool. */
  private boolean dropFromPool(ChunkKey key) {
    if (model != null) {
      model.drop(key);
    }
    return leave(key);
  }

  /** Drops a chunk whose bytes are no longer those it was published with. */
  void dropDamaged(ChunkKey key) {
    LOG.warn("The column chunk {} is damaged in the pool; it is dropped, its file read.", key);
    drop(key);
  }

  private boolean leave(ChunkKey key) {
    boolean dropped = pool.drop(key);
    pinned.leave(key);
    quotas.leave(key);
    return dropped;
  }

  /** Drops all chunks of a file; returns how many there were. */
  public long drop(FileId file) {
    if (model != null) {
      model.drop(file);
    }
    long dropped = pool.drop(file);
    tier.drop(file);
    if (dropped > 0) {
      letGo(key -> key.file().equals(file));
    }
    return dropped;
  }

  /** Drops all chunks. */
  public void dropAll() {
    if (model != null) {
      model.clear();
    }
    pool.clear();
    tier.clear();
    leaving.clear();
    letGo(key -> true);
  }

  /** Keeps none of these chunks any more. */
  public void letGo(Predicate<ChunkKey> which) {
    kept.release(which);
    pinned.leave(which);
    quotas.leave(which);
  }

  /** Drops a chunk for another one, published by now, that stands for it and is kept if it was. */
  void replace(ChunkKey old, ChunkKey with, long bytes) {
    boolean wasKept = kept.isKept(old);
    leave(old);
    recordEntry(with, bytes);
    if (wasKept) {
      kept.keep(with);
    }
  }

  /**
   * Tells the model that a reader has asked for a chunk.
   *
   * @param bytes what it takes of the pool, or would
   * @param weight length of what it stands for in the file
   */
  void recordAsk(ChunkKey key, long bytes, long weight, boolean wasHeld, Admission admission) {
    if (model != null && fault() == null) {
      model.ask(key, bytes, weight, wasHeld, admission);
    }
  }

  /** Tells the model that a chunk has entered the pool that nobody has asked for. */
  void recordEntry(ChunkKey key, long bytes) {
    if (model != null) {
      model.put(key, bytes);
    }
  }

  /** Begins the load of a chunk that is not held. */
  ChunkLoad begin(ChunkKey key, long bytes, ReadContext context) {
    return new ChunkLoad(this, key, bytes, null, 0, 0, context);
  }

  /** Why the pool is not used any more, or null while it works. */
  public Throwable fault() {
    return fault.get();
  }

  /**
   * Gets chunks of one file.
   *
   * @param requests disjoint chunks of one file, in any order
   * @param file where to read what is not held
   * @param context whose counters move as they say
   * @return the bytes, in the order of the requests; to be closed by the caller
   * @throws IOException when the file cannot be read, as the file system said it; nothing that was
   *     not read in full is published, and no pin stays
   * @throws InterruptedIOException when the thread is interrupted while it waits; it stays so
   */
  public PinnedChunks get(List<ChunkRequest> requests, FileRanges file, ReadContext context)
      throws IOException {
    boolean[] wasHeld = new boolean[context.isAsking() ? 0 : requests.size()];
    for (int i = 0; i < wasHeld.length; i++) {
      wasHeld[i] = isHeld(requests.get(i).key());
    }
    PinnedChunks held = new PinnedChunks(requests, this);
    try {
      new ChunkGet(this, requests, file, context, held).run();
      for (int i = 0; i < wasHeld.length; i++) {
        context.warmed().add(requests.get(i), wasHeld[i], isHeld(requests.get(i).key()));
      }
      return held;
    } catch (Throwable e) {
      held.close();
      throw e;
    }
  }

  /** Whether the pool holds a chunk and has not failed. */
  boolean isHeld(ChunkKey key) {
    return fault() == null && pool.isHeld(key);
  }

  /**
   * Pins a chunk if it is in the pool now; never loads or waits.
   *
   * @return the chunk as the only buffer, or null
   */
  public PinnedChunks getIfHeld(ChunkRequest chunk, ReadContext context) {
    PinnedChunks held = new PinnedChunks(List.of(chunk), this);
    Pin pin = pin(chunk);
    if (pin == null) {
      return null;
    }
    try {
      held.put(0, pin);
      onHit(chunk.key(), chunk.length(), context);
      ChunkAccess.record(chunk.key(), chunk.length(), true);
      return held;
    } catch (Throwable e) {
      held.close();
      throw e;
    }
  }

  /** Whether this question was asked of the chunk before, as far as a bounded memory tells. */
  boolean isAskedAgain(ChunkKey key) {
    return askedInPart.asMap().putIfAbsent(key, Boolean.TRUE) != null;
  }

  /** Pins a chunk if the pool holds it and has not failed; else null. */
  Pin pin(ChunkKey key) {
    if (fault() != null) {
      return null;
    }
    try {
      return pool.pin(key);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
      return null;
    }
  }

  /** Pins an encoded chunk, or returns null. One of another length is wrong, and is dropped. */
  Pin pin(ChunkRequest chunk) {
    Pin pin = pin(chunk.key());
    if (pin != null && pin.bytes() != chunk.length()) {
      unpin(pin);
      drop(chunk.key());
      return null;
    }
    return pin;
  }

  /** Ends a pin; a pool that fails to is given up, and the caller does not hear of it. */
  void unpin(Pin pin) {
    try {
      pin.close();
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /** Gives the pool up for the rest of the process. */
  public void switchOff(Throwable cause) {
    if (fault.compareAndSet(null, cause)) {
      LOG.warn(
          "The column chunk pool failed and is not used any more by this process; queries go on,"
              + " reading files without it.",
          cause);
    }
  }
}
