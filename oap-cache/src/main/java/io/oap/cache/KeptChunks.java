package io.oap.cache;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.common.ChunkKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chunks that stay in the pool until somebody lets go of them, because a user has pinned their
 * table: this holds a pin of each, which eviction passes over as it does any other. At most half of
 * the pool is kept, so that there always is room for the rest. Thread-safe.
 */
public final class KeptChunks {
  private static final Logger LOG = LoggerFactory.getLogger(KeptChunks.class);

  /** One part in so many of the capacity may be kept. */
  private static final int SHARE = 2;

  /** What came of the wish to keep a chunk. */
  public enum Outcome {
    KEPT,
    /** The pool does not hold it. */
    ABSENT,
    /** So much is kept already that it would be more than half, or than there is room for. */
    TOO_MUCH
  }

  private final ColumnPool pool;
  private final PinnedRoom room;
  private final Map<ChunkKey, Pin> pins = new HashMap<>();
  private long bytes;
  private long most;
  private boolean isFull;

  /**
   * @param room shared with others that keep chunks
   */
  KeptChunks(ColumnPool pool, PinnedRoom room) {
    this.pool = pool;
    this.room = room;
    most = pool.stats().capacityBytes() / SHARE;
  }

  /** Bytes of all that is kept. */
  public synchronized long bytes() {
    return bytes;
  }

  /** Whether a chunk is kept. */
  public synchronized boolean isKept(ChunkKey key) {
    return pins.containsKey(key);
  }

  /** Keeps a chunk that the pool holds, if there is room for that. */
  public synchronized Outcome keep(ChunkKey key) {
    if (pins.containsKey(key)) {
      return Outcome.KEPT;
    }
    Pin pin = pool.pin(key);
    return pin == null ? Outcome.ABSENT : take(key, pin) ? Outcome.KEPT : Outcome.TOO_MUCH;
  }

  /** Lets go of a chunk; returns whether it was kept. */
  synchronized boolean release(ChunkKey key) {
    Pin pin = pins.remove(key);
    if (pin != null) {
      bytes -= pin.bytes();
      room.give(pin.bytes());
      isFull = false;
      pin.close();
    }
    return pin != null;
  }

  /** Lets go of all such chunks; returns their bytes, one number for each. */
  public synchronized List<Long> release(Predicate<ChunkKey> which) {
    List<ChunkKey> keys = pins.keySet().stream().filter(which).toList();
    List<Long> sizes = keys.stream().map(key -> pins.get(key).bytes()).toList();
    keys.forEach(this::release);
    return sizes;
  }

  /**
   * To be called when the capacity has changed: lets go of what the pool gave up with memory that
   * it no longer has, and of what is too much now.
   */
  synchronized void settle() {
    most = pool.stats().capacityBytes() / SHARE;
    Map<ChunkKey, Pin> before = new HashMap<>(pins);
    pins.clear();
    room.give(bytes);
    bytes = 0;
    isFull = false;
    before.forEach(
        (key, pin) -> {
          Pin now = pool.pin(key);
          pin.close();
          if (now != null) {
            take(key, now);
          }
        });
  }

  /** Takes over a pin, or ends it. */
  private boolean take(ChunkKey key, Pin pin) {
    boolean isTooMuch = bytes + pin.bytes() > most;
    boolean fits = !isTooMuch && room.take(pin.bytes());
    if (fits) {
      pins.put(key, pin);
      bytes += pin.bytes();
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
}
