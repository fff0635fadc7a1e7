package io.oap.cache.file;

/**
 * How many column chunks of a file readers have asked for in this process, and how many of them
 * were in the pool. Thread-safe.
 */
public final class FileReads {
  private long found;
  private long asked;

  public synchronized void add(long moreFound, long moreAsked) {
    found += moreFound;
    asked += moreAsked;
  }

  /** Chunks that were in the pool. */
  public synchronized long found() {
    return found;
  }

  /** Chunks asked for. */
  public synchronized long asked() {
    return asked;
  }
}
