package io.oap.cache.quota;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chunks that stay in the pool until somebody lets go of them, because a user has pinned their
 * table: this holds a pin of each, which eviction passes over as it does any other. At most half of
 * the pool is kept, so that there always is room for the rest. Of a file that is written again only
 * its last version is kept, from when a chunk of that comes. Thread-safe; a hit of a chunk that is
 * kept waits for nobody.
 */
public final class TablePins {
  private static final Logger LOG = LoggerFactory.getLogger(TablePins.class);

  /** One part in so many of the capacity may be kept. */
  private static final int SHARE = 2;

  /** What came of the wish to keep a chunk. */
  public enum Outcome {
    KEPT,
    /** The pool does not hold it, or a later version of its file is kept. */
    ABSENT,
    /** So much is kept already that it would be more than half, or than there is room for. */
    TOO_MUCH
  }

  /**
   * @param file null where it is not known
   */
  private record Kept(Pin pin, FileIdentity file) {}

  /** What is kept of the last version of a file. */
  private record Version(FileIdentity file, Set<ChunkKey> chunks) {}

  private final ColumnPool pool;
  private final PinBudget room;
  private final Function<FileId, KnownFile> files;

  /** Changed under the lock; hits look into it without. */
  private final Map<ChunkKey, Kept> pins = new ConcurrentHashMap<>();

  private final Map<String, Version> byPath = new HashMap<>();
  private long bytes;
  private long most;
  private boolean isFull;

  /**
   * @param room shared with others that keep chunks
   * @param files what a file id stands for, or null where that is not known
   */
  public TablePins(ColumnPool pool, PinBudget room, Function<FileId, KnownFile> files) {
    this.pool = pool;
    this.room = room;
    this.files = files;
    most = pool.stats().capacityBytes() / SHARE;
  }

  /** Bytes of all that is kept. */
  public synchronized long bytes() {
    return bytes;
  }

  /** Whether a chunk is kept. */
  public boolean isKept(ChunkKey key) {
    return pins.containsKey(key);
  }

  /**
   * Keeps a chunk that the pool holds, if there is room for that. One that is kept needs no lock.
   */
  public Outcome keep(ChunkKey key) {
    return isKept(key) ? Outcome.KEPT : keepNew(key);
  }

  private synchronized Outcome keepNew(ChunkKey key) {
    if (isKept(key)) {
      return Outcome.KEPT;
    }
    KnownFile known = files.apply(key.file());
    FileIdentity file = known == null ? null : known.identity();
    Pin pin = isOutdated(file) ? null : pool.pin(key);
    if (pin == null) {
      return Outcome.ABSENT;
    }
    releaseOlder(file);
    return take(key, new Kept(pin, file)) ? Outcome.KEPT : Outcome.TOO_MUCH;
  }

  private boolean isOutdated(FileIdentity file) {
    Version last = file == null ? null : byPath.get(file.path());
    return last != null && file.modificationTime() < last.file().modificationTime();
  }

  private void releaseOlder(FileIdentity file) {
    Version last = file == null ? null : byPath.get(file.path());
    if (last != null && !last.file().equals(file)) {
      List.copyOf(last.chunks()).forEach(this::release);
    }
  }

  /** Lets go of a chunk; returns whether it was kept. */
  public synchronized boolean release(ChunkKey key) {
    Kept kept = pins.remove(key);
    if (kept == null) {
      return false;
    }
    bytes -= kept.pin().bytes();
    room.give(kept.pin().bytes());
    kept.pin().close();
    if (kept.file() != null) {
      Set<ChunkKey> others = byPath.get(kept.file().path()).chunks();
      others.remove(key);
      if (others.isEmpty()) {
        byPath.remove(kept.file().path());
      }
    }
    return true;
  }

  /** Lets go of all such chunks; returns their bytes, one number for each. */
  public synchronized List<Long> release(Predicate<ChunkKey> which) {
    List<ChunkKey> keys = pins.keySet().stream().filter(which).toList();
    List<Long> sizes = keys.stream().map(key -> pins.get(key).pin().bytes()).toList();
    keys.forEach(this::release);
    isFull &= keys.isEmpty();
    return sizes;
  }

  /**
   * Fits the pins to the pool's new capacity: lets go of what the pool gave up with memory that it
   * no longer has, and of what is too much now.
   */
  public synchronized void onResize() {
    most = pool.stats().capacityBytes() / SHARE;
    Map<ChunkKey, Kept> before = new HashMap<>(pins);
    pins.clear();
    byPath.clear();
    room.give(bytes);
    bytes = 0;
    isFull = false;
    before.forEach(
        (key, kept) -> {
          Pin now = pool.pin(key);
          kept.pin().close();
          if (now != null) {
            take(key, new Kept(now, kept.file()));
          }
        });
  }

  /** Takes over a pin, or ends it. */
  private boolean take(ChunkKey key, Kept kept) {
    Pin pin = kept.pin();
    boolean isTooMuch = bytes + pin.bytes() > most;
    boolean fits = !isTooMuch && room.take(pin.bytes());
    if (fits) {
      add(key, kept);
    } else {
      pin.close();
      if (isTooMuch && !isFull) {
        isFull = true;
        LOG.warn(
            "Half of the column cache's pool is pinned; further chunks of pinned tables are cached"
                + " as those of other tables.");
      }
    }
    return fits;
  }

  private void add(ChunkKey key, Kept kept) {
    pins.put(key, kept);
    bytes += kept.pin().bytes();
    if (kept.file() != null) {
      byPath
          .computeIfAbsent(kept.file().path(), path -> new Version(kept.file(), new HashSet<>()))
          .chunks()
          .add(key);
    }
  }
}
