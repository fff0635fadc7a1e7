package io.oap.cache.quota;

import io.oap.cache.pool.Admission;
import io.oap.common.ChunkKey;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The chunks of one table that stay in the pool because of the table's minimum. Thread-safe; what
 * hits call waits for nobody.
 */
final class MinimumPins implements PinnedSet.Owner {
  private final PinnedSet pinned;
  private final ReentrantLock lock = new ReentrantLock();
  private final QuotaSet share;

  /**
   * @param minimum bytes that stay
   */
  MinimumPins(PinnedSet pinned, long minimum) {
    this.pinned = pinned;
    share = new QuotaSet(minimum, key -> pinned.unpin(key, this), key -> true);
  }

  /** Notes a use of a chunk that the pool holds; it may stay from now on. */
  void use(ChunkKey key, long length) {
    if (!share.use(key) && lock.tryLock()) {
      try {
        offer(key, length);
      } finally {
        lock.unlock();
      }
    }
  }

  /**
   * Takes in a chunk that has been loaded, if it is worth it.
   *
   * @param insteadOf the chunk that it stands for, which is still there: it stays if that one did;
   *     or null
   */
  void load(ChunkKey key, ChunkKey insteadOf, long length) {
    lock.lock();
    try {
      if (insteadOf == null) {
        offer(key, length);
      } else if (share.replace(insteadOf, key, length, Admission.EVICTING)) {
        pin(key);
        pinned.unpin(insteadOf, this);
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
    if (pinned.pin(key, this, Long.MAX_VALUE) == PinnedSet.Outcome.PINNED) {
      share.onLoaded(key);
    } else {
      share.abandon(key, null, 0);
    }
  }

  @Override
  public void leave(ChunkKey key) {
    lock.lock();
    try {
      share.leave(key);
      pinned.unpin(key, this);
    } finally {
      lock.unlock();
    }
  }

  /** Lets so many bytes stay from now on, and none that the pool has given up with its memory. */
  void resize(long minimum) {
    lock.lock();
    try {
      share.resize(minimum);
      for (ChunkKey key : share.keys()) {
        if (!pinned.has(key, this) || pinned.isOver()) {
          share.leave(key);
          pinned.unpin(key, this);
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
}
