package io.oap.cache.quota;

import io.oap.common.ChunkKey;

/** A chunk that belongs to a {@link QuotaSet}, which guards all but {@link #lastUse}. */
final class QuotaEntry {
  ChunkKey key;
  long bytes;

  /** Where it stands in the set's list. */
  int place;

  /** Not in the pool yet, so that it cannot leave. */
  boolean isLoading;

  /** In misses of the set. Written without a lock: any of the last ones will do. */
  int lastUse;

  QuotaEntry(ChunkKey key, long bytes, int now) {
    this.key = key;
    this.bytes = bytes;
    this.lastUse = now;
  }
}
