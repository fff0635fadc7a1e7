package io.oap.cache;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.Reservation;
import io.oap.cache.pool.Reservation.Outcome;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.Collection;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Files whose chunks leave before all others once the pool is full: their table has moved on, and
 * only its former states have them. Until then they serve whoever reads such a state. Thread-safe.
 */
final class LeavingFiles {

  /** What comes when there are so many leaves as the pool's policy says. */
  private static final int MOST = 1 << 16;

  private final ChunkCache cache;
  private final BlockingQueue<FileId> files = new ArrayBlockingQueue<>(MOST);

  LeavingFiles(ChunkCache cache) {
    this.cache = cache;
  }

  void add(Collection<FileId> more) {
    more.forEach(files::offer);
  }

  boolean isEmpty() {
    return files.isEmpty();
  }

  void clear() {
    files.clear();
  }

  /**
   * Asks the pool for room for a chunk, after as many of these files have gone as it takes.
   *
   * @param asks as {@link io.oap.cache.pool.ColumnPool#reserve} takes it
   */
  Reservation reserve(ChunkKey key, long bytes, Admission admission, int asks) {
    if (admission == Admission.EVICTING) {
      while (!files.isEmpty()) {
        Reservation room = cache.pool.reserve(key, bytes, Admission.IF_FREE, 0);
        if (room.outcome() != Outcome.NO_ROOM) {
          return room;
        }
        FileId first = files.poll();
        if (first != null) {
          cache.drop(first);
        }
      }
    }
    return cache.pool.reserve(key, bytes, admission, asks);
  }
}
