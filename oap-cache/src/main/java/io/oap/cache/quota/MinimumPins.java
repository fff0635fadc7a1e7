package io.oap.cache.quota;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.common.ChunkKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The chunks of one table that stay in the pool because of the table's minimum: this holds a pin of
 * each, which eviction passes over. Thread-safe; what hits call waits for nobody.
 */
final class MinimumPins {
  private final ColumnPool pool;
  private final PinBudget room;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<ChunkKey, Pin> pins = new HashMap<>();
  private final QuotaSet share;

  /**
   * @param minimum bytes that stay
   * @param room shared with others that keep chunks
   */
  MinimumPins(ColumnPool pool, long minimum, PinBudget room) {
    this.pool = pool;
    this.room = room;
    share = new QuotaSet(minimum, this::unpin, key -> true);
  }

  /** Bytes that stay now. */
  long bytes() {
    return share.bytes();
  }

  /** A chunk was found in the pool: it may be one of those that stay. */
  void use(ChunkKey key, long length) {
    if (!share.use(key) && lock.tryLock()) {
      try {
        offer(key, length);
      } finally {
        lock.unlock();
      }
    }
  }

  /** A chunk has been loaded: it may be one of those that stay. */
  void load(ChunkKey key, long length) {
    lock.lock();
    try {
      offer(key, length);
    } finally {
      lock.unlock();
    }
  }

  /**
   * A chunk has been loaded that stands for another one, which is still there: it stays if that one
   * did.
   */
  void replace(ChunkKey old, ChunkKey with, long length) {
    lock.lock();
    try {
      if (share.replace(old, with, length, Admission.EVICTING)) {
        pin(with);
        unpin(old);
      }
    } finally {
      lock.unlock();
    }
  }

  private void offer(ChunkKey key, long length) {
    if (share.enter(key, length, Admission.EVICTING)) {
      pin(key);
    }
  }

  private void pin(ChunkKey key) {
    if (pins.containsKey(key)) {
      share.onLoaded(key);
      return;
    }
    Pin pin = pool.pin(key);
    if (pin != null && room.take(pin.bytes())) {
      pins.put(key, pin);
      share.onLoaded(key);
      return;
    }
    share.abandon(key, null, 0);
    if (pin != null) {
      pin.close();
    }
  }

  /** A chunk was dropped: nothing of it stays. */
  void leave(ChunkKey key) {
    if (!share.has(key)) {
      return; // and who takes it in from now on will not find it in the pool
    }
    lock.lock();
    try {
      share.leave(key);
      unpin(key);
    } finally {
      lock.unlock();
    }
  }

  /** From now on so many bytes stay; what the pool has given up with its memory stays no more. */
  void resize(long minimum) {
    lock.lock();
    try {
      share.resize(minimum);
      for (ChunkKey key : share.keys()) {
        Pin now = pool.pin(key);
        unpin(key);
        if (now != null && room.take(now.bytes())) {
          pins.put(key, now);
          continue;
        }
        share.leave(key);
        if (now != null) {
          now.close();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** The chunks that stay now. */
  List<ChunkKey> keys() {
    return share.keys();
  }

  private void unpin(ChunkKey key) {
    Pin pin = pins.remove(key);
    if (pin != null) {
      room.give(pin.bytes());
      pin.close();
    }
  }
}
