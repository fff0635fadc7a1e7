package io.oap.cache.stats;

/**
 * What one reader took from the cache and from files, by {@link Figure}. Not thread-safe: a reader
 * belongs to one task thread.
 *
 * <p>Each chunk a reader asks for moves exactly one of {@link Figure#HITS} (it was in the pool or
 * the tier below it, or another task had just put it there), {@link Figure#MISSES} (this reader
 * loaded it) and {@link Figure#BYPASSES} (read from the file without entering the pool), and of the
 * last two the figure of its {@link MissCause}.
 */
public final class CacheCounters {
  private final long[] counted = new long[Figure.values().length];

  public long get(Figure figure) {
    return counted[figure.ordinal()];
  }

  public long chunksHit() {
    return get(Figure.HITS);
  }

  public long chunksMissed() {
    return get(Figure.MISSES);
  }

  public long chunksBypassed() {
    return get(Figure.BYPASSES);
  }

  /** All chunks that readers wanted: hit, missed and bypassed. */
  public long chunksAsked() {
    return chunksHit() + chunksMissed() + chunksBypassed();
  }

  /** Chunks missed or bypassed for this reason. */
  public long chunks(MissCause cause) {
    return get(Figure.of(cause));
  }

  public long bytesFromPool() {
    return get(Figure.BYTES_FROM_POOL);
  }

  public long bytesFromFile() {
    return get(Figure.BYTES_FROM_FILE);
  }

  /** Time spent reading from files and filling the pool; waiting for other readers is not in it. */
  public long loadNanos() {
    return get(Figure.LOAD_NANOS);
  }

  /** Counts so many more. */
  public void add(Figure figure, long count) {
    counted[figure.ordinal()] += count;
  }

  /** Records a chunk found in the pool, of which {@code bytes} were wanted. */
  public void hit(long bytes) {
    add(Figure.HITS, 1);
    add(Figure.BYTES_FROM_POOL, bytes);
  }

  /**
   * Records a chunk that was not in the pool: put into it, or read around it, as the cause says.
   */
  public void miss(MissCause cause) {
    add(cause.isLoaded() ? Figure.MISSES : Figure.BYPASSES, 1);
    add(Figure.of(cause), 1);
  }

  /** Records a read from a file. */
  public void read(long bytes, long nanos) {
    add(Figure.BYTES_FROM_FILE, bytes);
    add(Figure.LOAD_NANOS, nanos);
  }

  /** Adds everything that {@code other} counted. */
  public void add(CacheCounters other) {
    for (int i = 0; i < counted.length; i++) {
      counted[i] += other.counted[i];
    }
  }

  /** What was counted since {@code earlier}, a copy of these counters. */
  public CacheCounters minus(CacheCounters earlier) {
    CacheCounters since = new CacheCounters();
    for (int i = 0; i < counted.length; i++) {
      since.counted[i] = counted[i] - earlier.counted[i];
    }
    return since;
  }
}
