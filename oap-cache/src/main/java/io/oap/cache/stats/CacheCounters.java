package io.oap.cache.stats;

/**
 * What one reader took from the cache and from files. Not thread-safe: a reader belongs to one task
 * thread.
 *
 * <p>Each chunk a reader asks for moves exactly one of {@link #chunksHit} (it was in the pool, or
 * another task had just put it there), {@link #chunksMissed} (this reader loaded it) and {@link
 * #chunksBypassed} (read from the file without entering the pool), and of the last two the count of
 * its {@link MissCause}. {@link #bytesFromFile} counts all bytes taken from files, footers and page
 * indexes included.
 */
public final class CacheCounters {
  private long bytesFromPool;
  private long bytesFromFile;
  private long chunksHit;
  private final long[] chunksByCause = new long[MissCause.values().length];
  private long rowGroupsPruned;
  private long zonesSkipped;
  private long rowsDropped;
  private long tasksElsewhere;
  private long loadNanos;

  public long bytesFromPool() {
    return bytesFromPool;
  }

  public long bytesFromFile() {
    return bytesFromFile;
  }

  public long chunksHit() {
    return chunksHit;
  }

  /** All chunks that readers wanted: hit, missed and bypassed. */
  public long chunksAsked() {
    return chunksHit + chunksMissed() + chunksBypassed();
  }

  public long chunksMissed() {
    return sum(true);
  }

  public long chunksBypassed() {
    return sum(false);
  }

  private long sum(boolean isLoaded) {
    long sum = 0;
    for (MissCause cause : MissCause.values()) {
      sum += cause.isLoaded() == isLoaded ? chunksByCause[cause.ordinal()] : 0;
    }
    return sum;
  }

  /** Chunks missed or bypassed for this reason. */
  public long chunks(MissCause cause) {
    return chunksByCause[cause.ordinal()];
  }

  /** Row groups of the split that no row can come from, by the statistics in the footer. */
  public long rowGroupsPruned() {
    return rowGroupsPruned;
  }

  /** Zones of vector chunks that were passed over, because none of their rows was wanted. */
  public long zonesSkipped() {
    return zonesSkipped;
  }

  /** Rows of the other zones, and of decoded batches, that conditions of the query left out. */
  public long rowsDropped() {
    return rowsDropped;
  }

  /** Tasks that ran on another executor than the one their chunks belong to. */
  public long tasksElsewhere() {
    return tasksElsewhere;
  }

  /** Time spent reading from files and filling the pool; waiting for other readers is not in it. */
  public long loadNanos() {
    return loadNanos;
  }

  /** Records a chunk found in the pool, of which {@code bytes} were wanted. */
  public void hit(long bytes) {
    chunksHit++;
    bytesFromPool += bytes;
  }

  /**
   * Records a chunk that was not in the pool: put into it, or read around it, as the cause says.
   */
  public void miss(MissCause cause) {
    chunksByCause[cause.ordinal()]++;
  }

  /** Records a read from a file. */
  public void read(long bytes, long nanos) {
    bytesFromFile += bytes;
    loadNanos += nanos;
  }

  /** Records row groups that were not read. */
  public void pruneRowGroups(long count) {
    rowGroupsPruned += count;
  }

  /** Records a zone of which no row was wanted. */
  public void skipZone() {
    zonesSkipped++;
  }

  /** Records rows left out of a zone of which others were wanted, or of a decoded batch. */
  public void dropRows(long count) {
    rowsDropped += count;
  }

  /** Records that the reader's task runs elsewhere than it was placed. */
  public void runElsewhere() {
    tasksElsewhere++;
  }

  /** Adds everything that {@code other} counted. */
  public void add(CacheCounters other) {
    bytesFromPool += other.bytesFromPool;
    bytesFromFile += other.bytesFromFile;
    chunksHit += other.chunksHit;
    for (int i = 0; i < chunksByCause.length; i++) {
      chunksByCause[i] += other.chunksByCause[i];
    }
    rowGroupsPruned += other.rowGroupsPruned;
    zonesSkipped += other.zonesSkipped;
    rowsDropped += other.rowsDropped;
    tasksElsewhere += other.tasksElsewhere;
    loadNanos += other.loadNanos;
  }

  /** What was counted since {@code earlier}, a copy of these counters. */
  public CacheCounters minus(CacheCounters earlier) {
    CacheCounters since = new CacheCounters();
    since.bytesFromPool = bytesFromPool - earlier.bytesFromPool;
    since.bytesFromFile = bytesFromFile - earlier.bytesFromFile;
    since.chunksHit = chunksHit - earlier.chunksHit;
    for (int i = 0; i < chunksByCause.length; i++) {
      since.chunksByCause[i] = chunksByCause[i] - earlier.chunksByCause[i];
    }
    since.rowGroupsPruned = rowGroupsPruned - earlier.rowGroupsPruned;
    since.zonesSkipped = zonesSkipped - earlier.zonesSkipped;
    since.rowsDropped = rowsDropped - earlier.rowsDropped;
    since.tasksElsewhere = tasksElsewhere - earlier.tasksElsewhere;
    since.loadNanos = loadNanos - earlier.loadNanos;
    return since;
  }
}
