package io.oap.cache;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.CapacityModel;
import io.oap.cache.pool.CapacityModel.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import io.oap.cache.quota.PinBudget;
import io.oap.cache.quota.QuotaEnforcer;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.TablePins;
import io.oap.cache.stats.CacheCounters;
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
  final ConcurrentMap<ChunkKey, CountDownLatch> loads;

  /** Why chunks are loaded again. */
  public final LoadedChunks loaded;

  public final TablePins kept;
  final QuotaEnforcer limits;
  private final PinBudget pinnedRoom;

  /** Is told what readers ask for; null where there is none. */
  private final CapacityModel model;

  private final Predicate<ChunkKey> isToBeKept;

  private final Cache<ChunkKey, Boolean> askedInPart;
  private final AtomicReference<Throwable> fault;
  final boolean displaces;

  /**
   * @param pool where chunks are kept; the caller closes it
   * @param loadTimeoutMillis how long to wait for another caller's load of the same chunk
   */
  public ChunkCache(ColumnPool pool, long loadTimeoutMillis) {
    this(pool, loadTimeoutMillis, file -> null, null);
  }

  /**
   * @param files what a file id stands for, or null where that is not known
   * @param model is told what readers ask for; may be null
   */
  ChunkCache(
      ColumnPool pool,
      long loadTimeoutMillis,
      Function<FileId, KnownFile> files,
      CapacityModel model) {
    this.pool = pool;
    this.model = model;
    this.loaded = new LoadedChunks(files);
    this.pinnedRoom = new PinBudget(pool.stats().capacityBytes());
    this.kept = new TablePins(pool, pinnedRoom, files);
    this.limits = new QuotaEnforcer(pool, pinnedRoom, files, this::drop);
    this.isToBeKept = key -> false;
    this.loadTimeoutMillis = loadTimeoutMillis;
    this.loads = new ConcurrentHashMap<>();
    this.askedInPart = CacheBuilder.newBuilder().maximumSize(ASKED_IN_PART).build();
    this.fault = new AtomicReference<>();
    this.displaces = true;
  }

  private ChunkCache(ChunkCache host, boolean displaces, Predicate<ChunkKey> isToBeKept) {
    this.pool = host.pool;
    this.model = host.model;
    this.loadTimeoutMillis = host.loadTimeoutMillis;
    this.loads = host.loads;
    this.loaded = host.loaded;
    this.kept = host.kept;
    this.limits = host.limits;
    this.pinnedRoom = host.pinnedRoom;
    this.askedInPart = host.askedInPart;
    this.fault = host.fault;
    this.displaces = displaces;
    this.isToBeKept = isToBeKept;
  }

  /**
   * Returns this cache for readers whose chunks belong elsewhere: they hit what is there, and put
   * what they load into room that is free, but nothing leaves the pool for them.
   */
  public ChunkCache forGuests() {
    return new ChunkCache(this, false, key -> false);
  }

  /** This cache for readers that keep these chunks when they come upon them. */
  public ChunkCache keeping(Predicate<ChunkKey> chunks) {
    return new ChunkCache(this, displaces, chunks);
  }

  /** A chunk was found in the pool. */
  void isFound(ChunkKey key, long bytes) {
    try {
      limits.use(key, bytes, displaces);
      keepIfWanted(key);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /**
   * A chunk that was admitted is in the pool.
   *
   * @param insteadOf the chunk whose place it takes, which is still there; or null
   */
  void isLoaded(ChunkKey key, ChunkKey insteadOf, long bytes) {
    limits.loaded(key, insteadOf, bytes, displaces);
    keepIfWanted(key);
  }

  private void keepIfWanted(ChunkKey key) {
    if (isToBeKept.test(key)) {
      kept.keep(key);
    }
  }

  /** What tables may have and are sure of, from now on. */
  public void limit(List<QuotaRule> told) {
    try {
      limits.tell(told);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /** To be called when the pool's capacity has changed. */
  public void settle() {
    pinnedRoom.resize(pool.stats().capacityBytes());
    kept.settle();
    limits.settle();
  }

  /**
   * Drops a chunk: nobody finds it any more, and its memory is free when nobody reads it any more.
   * All that is dropped, is dropped by this or by those below, so that whoever keeps it lets go.
   *
   * @return whether the pool had it
   */
  public boolean drop(ChunkKey key) {
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
    kept.release(key);
    limits.leave(key);
    return dropped;
  }

  /** Drops all chunks of a file; returns how many there were. */
  public long drop(FileId file) {
    if (model != null) {
      model.drop(file);
    }
    long dropped = pool.drop(file);
    letGo(key -> key.file().equals(file));
    return dropped;
  }

  /** Drops all chunks. */
  public void dropAll() {
    if (model != null) {
      model.clear();
    }
    pool.clear();
    letGo(key -> true);
  }

  /** Keeps none of these chunks any more. */
  public void letGo(Predicate<ChunkKey> which) {
    kept.release(which);
    limits.leave(which);
  }

  /** Drops a chunk for another one, published by now, that stands for it and is kept if it was. */
  void replace(ChunkKey old, ChunkKey with, long bytes) {
    boolean wasKept = kept.isKept(old);
    leave(old);
    entered(with, bytes);
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
  void asked(ChunkKey key, long bytes, long weight, boolean wasHeld) {
    tell(key, bytes, weight, wasHeld, displaces ? Admission.DISPLACES : Admission.INTO_FREE_ROOM);
  }

  /**
   * Tells the model of a chunk that was not admitted: for want of free room, which another capacity
   * may have, or by its table's quota, which is the same for all.
   */
  void refused(ChunkKey key, long bytes) {
    tell(key, bytes, bytes, false, displaces ? Admission.NEVER : Admission.INTO_FREE_ROOM);
  }

  /**
   * Tells the model of a get of some pages only, from the pool or read around it.
   *
   * @param wanted length of those pages
   */
  public void askedInPart(ChunkRequest chunk, long wanted, boolean wasHeld) {
    if (wasHeld) {
      asked(chunk.key(), chunk.length(), wanted, true);
    } else {
      tell(chunk.key(), chunk.length(), wanted, false, Admission.NEVER);
    }
  }

  private void tell(ChunkKey key, long bytes, long weight, boolean wasHeld, Admission admission) {
    if (model != null && fault() == null) {
      model.ask(key, bytes, weight, wasHeld, admission);
    }
  }

  /** Tells the model that a chunk has entered the pool that nobody has asked for. */
  void entered(ChunkKey key, long bytes) {
    if (model != null) {
      model.put(key, bytes);
    }
  }

  /**
   * Whether a chunk may enter the pool, if there is room. If so, it must be followed by {@link
   * #isLoaded}, or by {@link QuotaEnforcer#abandon}.
   */
  boolean admits(ChunkKey key, long bytes) {
    return limits.admit(key, bytes, displaces);
  }

  /** Whether a chunk may take the place of another one; see above for what must follow. */
  boolean admits(ChunkKey key, ChunkKey insteadOf, long bytes) {
    return limits.admit(key, insteadOf, bytes, displaces);
  }

  /** Asks the pool for memory for a chunk that was admitted. */
  Reservation reserve(ChunkKey key, long bytes) {
    return displaces ? pool.reserve(key, bytes) : pool.reserveFree(key, bytes);
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
   * @param counters moved as described there
   * @return the bytes, in the order of the requests; to be closed by the caller
   * @throws IOException when the file cannot be read, as the file system said it; nothing that was
   *     not read in full is published, and no pin stays
   * @throws InterruptedIOException when the thread is interrupted while it waits; it stays so
   */
  public PinnedChunks get(List<ChunkRequest> requests, FileRanges file, CacheCounters counters)
      throws IOException {
    return get(requests, file, counters, true);
  }

  /** Sees to it that the pool holds these chunks; as {@link #get}, but no reader asks for them. */
  public void load(List<ChunkRequest> requests, FileRanges file, CacheCounters counters)
      throws IOException {
    get(requests, file, counters, false).close();
  }

  private PinnedChunks get(
      List<ChunkRequest> requests, FileRanges file, CacheCounters counters, boolean isAsked)
      throws IOException {
    PinnedChunks held = new PinnedChunks(requests, this);
    try {
      new ChunkGet(this, requests, file, counters, held, isAsked).run();
      return held;
    } catch (Throwable e) {
      held.close();
      throw e;
    }
  }

  /**
   * A chunk if it is in the pool now; never loads or waits.
   *
   * @return the chunk as the only buffer, or null
   */
  public PinnedChunks getIfHeld(ChunkRequest chunk) {
    PinnedChunks held = new PinnedChunks(List.of(chunk), this);
    Pin pin = pin(chunk);
    if (pin == null) {
      return null;
    }
    try {
      held.put(0, pin);
      isFound(chunk.key(), chunk.length());
      ChunkAccess.record(chunk.key(), chunk.length(), true);
      return held;
    } catch (Throwable e) {
      held.close();
      throw e;
    }
  }

  /** Whether this question was asked of the chunk before, as far as a bounded memory tells. */
  public boolean isAskedAgain(ChunkKey key) {
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
