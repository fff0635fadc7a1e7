package io.oap.cache.quota;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.common.ChunkKey;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The chunks that stay in the pool whatever is read: one pin of each, which eviction passes over,
 * and the owners for which it stays. Four fifths of the pool stay at most, columns of DataFrames
 * included, so that the rest is of use to other chunks. Thread-safe; {@link #has} waits for nobody.
 */
public final class PinnedSet {
  private static final Logger LOG = LoggerFactory.getLogger(PinnedSet.class);

  /** Of so many parts of the pool, so many may stay. */
  private static final int PARTS = 5;

  private static final int MOST_PARTS = 4;

  /** For whom chunks stay: the pinned tables, or the minimum of one table. */
  interface Owner {

    /** Forgets a chunk that was dropped, and unpins it. */
    void leave(ChunkKey key);
  }

  /** What came of a pin. */
  enum Outcome {
    PINNED,
    /** The pool does not hold the chunk. */
    ABSENT,
    /** It is longer than its owner may have. */
    TOO_LONG,
    /** All owners together have as much as may stay. */
    FULL
  }

  private record Pinned(Pin pin, Set<Owner> owners) {}

  private final ColumnPool pool;

  /** Changed under the lock; hits look into it without. */
  private final Map<ChunkKey, Pinned> chunks = new ConcurrentHashMap<>();

  private long capacity;
  private long bytes;

  /** Of chunks that are pinned elsewhere, for good: columns of cached DataFrames. */
  private long owned;

  private boolean hasWarned;

  public PinnedSet(ColumnPool pool) {
    this.pool = pool;
    this.capacity = pool.stats().capacityBytes();
  }

  synchronized long capacityBytes() {
    return capacity;
  }

  /** Whether a chunk stays for this owner. */
  boolean has(ChunkKey key, Owner owner) {
    Pinned pinned = chunks.get(key);
    return pinned != null && pinned.owners().contains(owner);
  }

  /** Whether the pool holds a chunk. */
  boolean isHeld(ChunkKey key) {
    return pool.isHeld(key);
  }

  /** Length of a chunk that stays; 0 of others. */
  long bytes(ChunkKey key) {
    Pinned pinned = chunks.get(key);
    return pinned == null ? 0 : pinned.pin().bytes();
  }

  /**
   * Pins a chunk for an owner.
   *
   * @param most how long it may be
   */
  synchronized Outcome pin(ChunkKey key, Owner owner, long most) {
    Pinned before = chunks.get(key);
    Pin pin = before == null ? pool.pin(key) : before.pin();
    if (pin == null) {
      return Outcome.ABSENT;
    }
    Outcome outcome = Outcome.PINNED;
    if (pin.bytes() > most) {
      outcome = Outcome.TOO_LONG;
    } else if (before == null && bytes + owned + pin.bytes() > mostBytes()) {
      outcome = Outcome.FULL;
      warnOnce();
    }
    if (outcome == Outcome.PINNED) {
      Set<Owner> owners = new HashSet<>(before == null ? Set.of() : before.owners());
      owners.add(owner);
      chunks.put(key, new Pinned(pin, Set.copyOf(owners)));
      bytes += before == null ? pin.bytes() : 0;
    } else if (before == null) {
      pin.close();
    }
    return outcome;
  }

  /** Unpins a chunk for an owner; it stays while it has others. */
  synchronized void unpin(ChunkKey key, Owner owner) {
    Pinned pinned = chunks.get(key);
    if (pinned == null) {
      return;
    }
    Set<Owner> owners = new HashSet<>(pinned.owners());
    owners.remove(owner);
    if (!owners.isEmpty()) {
      chunks.put(key, new Pinned(pinned.pin(), Set.copyOf(owners)));
    } else {
      chunks.remove(key);
      bytes -= pinned.pin().bytes();
      pinned.pin().close();
    }
  }

  /** Unpins a chunk that was dropped from the pool for all its owners. */
  public void leave(ChunkKey key) {
    owners(key).forEach(owner -> owner.leave(key));
  }

  /** Unpins all such chunks. */
  public void leave(Predicate<ChunkKey> which) {
    List<ChunkKey> keys = chunks.keySet().stream().filter(which).toList();
    keys.forEach(this::leave);
  }

  /** Waits for a pin that is being taken: one that comes later does not find the chunk. */
  private synchronized Set<Owner> owners(ChunkKey key) {
    Pinned pinned = chunks.get(key);
    return pinned == null ? Set.of() : pinned.owners();
  }

  /**
   * Lets go of what the pool has given up with its memory. Owners are to look which of their chunks
   * are left, and unpin some while {@link #isOver}.
   */
  public synchronized void onResize() {
    capacity = pool.stats().capacityBytes();
    for (Map.Entry<ChunkKey, Pinned> chunk : chunks.entrySet()) {
      Pin before = chunk.getValue().pin();
      Pin now = pool.pin(chunk.getKey());
      if (now == null) {
        chunks.remove(chunk.getKey());
        bytes -= before.bytes();
      } else {
        chunks.put(chunk.getKey(), new Pinned(now, chunk.getValue().owners()));
        bytes += now.bytes() - before.bytes();
      }
      before.close();
    }
  }

  /** Whether more stays than may, because the pool has shrunk. */
  synchronized boolean isOver() {
    return bytes + owned > mostBytes();
  }

  /** Counts a chunk that somebody else is to pin, unless as much stays as may. */
  public synchronized boolean own(long length) {
    boolean fits = bytes + owned + length <= mostBytes();
    owned += fits ? length : 0;
    return fits;
  }

  /** Ends {@link #own}. */
  public synchronized void disown(long length) {
    owned -= length;
  }

  /** Bytes of the chunks that are {@link #own}ed. */
  public synchronized long ownedBytes() {
    return owned;
  }

  private long mostBytes() {
    return capacity / PARTS * MOST_PARTS;
  }

  private void warnOnce() {
    if (!hasWarned) {
      hasWarned = true;
      LOG.warn(
          "Four fifths of the column cache's pool stay for pinned tables, minimums and DataFrames;"
              + " further chunks are cached as those of other tables.");
    }
  }
}
