package io.oap.cache.quota;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The chunks that stay in the pool until somebody lets go of them, because a user has pinned their
 * table. At most half of the pool is kept. Of a file that is written again only its last version is
 * kept, from when a chunk of that comes. Thread-safe; a hit of a chunk that is kept waits for
 * nobody.
 */
public final class TablePins implements PinnedSet.Owner {
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
  private record Kept(long bytes, FileIdentity file) {}

  /** What is kept of the last version of a file. */
  private record Version(FileIdentity file, Set<ChunkKey> chunks) {}

  private final PinnedSet pinned;
  private final Function<FileId, KnownFile> files;
  private final Map<ChunkKey, Kept> chunks = new HashMap<>();
  private final Map<String, Version> byPath = new HashMap<>();
  private long bytes;
  private long most;
  private boolean isFull;

  /**
   * @param files what a file id stands for, or null where that is not known
   */
  public TablePins(PinnedSet pinned, Function<FileId, KnownFile> files) {
    this.pinned = pinned;
    this.files = files;
    this.most = pinned.capacityBytes() / SHARE;
  }

  /** Bytes of all that is kept. */
  public synchronized long bytes() {
    return bytes;
  }

  /** Whether a chunk is kept. */
  public boolean isKept(ChunkKey key) {
    return pinned.has(key, this);
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
    if (isOutdated(file) || !pinned.isHeld(key)) {
      return Outcome.ABSENT;
    }
    releaseOlder(file);
    release(key); // as the pool has, when it shrank just now
    PinnedSet.Outcome outcome = pinned.pin(key, this, most - bytes);
    if (outcome == PinnedSet.Outcome.PINNED) {
      add(key, new Kept(pinned.bytes(key), file));
      return Outcome.KEPT;
    }
    if (outcome == PinnedSet.Outcome.TOO_LONG && !isFull) {
      isFull = true;
      LOG.warn(
          "Half of the column cache's pool is pinned; further chunks of pinned tables are cached"
              + " as those of other tables.");
    }
    return outcome == PinnedSet.Outcome.ABSENT ? Outcome.ABSENT : Outcome.TOO_MUCH;
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
    Kept kept = chunks.remove(key);
    if (kept == null) {
      return false;
    }
    bytes -= kept.bytes();
    pinned.unpin(key, this);
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
    List<ChunkKey> keys = chunks.keySet().stream().filter(which).toList();
    List<Long> sizes = keys.stream().map(key -> chunks.get(key).bytes()).toList();
    keys.forEach(this::release);
    isFull &= keys.isEmpty();
    return sizes;
  }

  @Override
  public void leave(ChunkKey key) {
    release(key);
  }

  /**
   * Fits the pins to the pool's new capacity: lets go of what the pool gave up with memory that it
   * no longer has, and of what is too much now.
   */
  public synchronized void onResize() {
    most = pinned.capacityBytes() / SHARE;
    isFull = false;
    for (ChunkKey key : List.copyOf(chunks.keySet())) {
      if (!isKept(key) || bytes > most) {
        release(key);
      }
    }
  }

  private void add(ChunkKey key, Kept kept) {
    chunks.put(key, kept);
    bytes += kept.bytes();
    if (kept.file() != null) {
      byPath
          .computeIfAbsent(kept.file().path(), path -> new Version(kept.file(), new HashSet<>()))
          .chunks()
          .add(key);
    }
  }
}
