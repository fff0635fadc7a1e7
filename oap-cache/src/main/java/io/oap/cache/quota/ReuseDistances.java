package io.oap.cache.quota;

import io.oap.common.ChunkKey;

/**
 * When chunks were missed last, as far as a bounded memory tells: the same chunk counts as one in
 * all its representations. Of two chunks that share a place, the later is remembered. Not
 * thread-safe.
 */
final class ReuseDistances {
  private static final int LEAST_PLACES = 1 << 8;
  private static final int MOST_PLACES = 1 << 18;
  private static final int PLACES_PER_CHUNK = 4;

  /** A hash of the chunk and the time. 0: nothing. */
  private long[] places = new long[LEAST_PLACES];

  /**
   * Remembers a miss.
   *
   * @param now grows by one with each miss
   * @param chunks how many there is room for, which says how much is to be remembered
   * @return how long ago it was missed before; the most there is if that is not known
   */
  int miss(ChunkKey key, int now, int chunks) {
    if (places.length < MOST_PLACES && places.length < PLACES_PER_CHUNK * chunks) {
      grow();
    }
    int ago = ago(key, now);
    int hash = hash(key);
    places[hash & places.length - 1] = (long) hash << 32 | now & 0xFFFFFFFFL;
    return ago;
  }

  /** How long before that time a chunk was missed; the most there is if that is not known. */
  int ago(ChunkKey key, int now) {
    int hash = hash(key);
    long before = places[hash & places.length - 1];
    int ago = now - (int) before;
    return before != 0 && (int) (before >>> 32) == hash && ago > 0 ? ago : Integer.MAX_VALUE;
  }

  private void grow() {
    long[] old = places;
    places = new long[2 * old.length];
    for (long place : old) {
      if (place != 0) {
        places[(int) (place >>> 32) & places.length - 1] = place;
      }
    }
  }

  private static int hash(ChunkKey key) {
    long bits = key.file().low() * 31 + ((long) key.rowGroup() << 32 | key.column());
    bits = (bits ^ bits >>> 32) * 0x9E3779B97F4A7C15L;
    return (int) (bits >>> 32);
  }
}
