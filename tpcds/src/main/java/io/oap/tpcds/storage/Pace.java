package io.oap.tpcds.storage;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * One storage class as this JVM sees it: the bucket that all its readers share, and what they read.
 * Thread-safe.
 */
public final class Pace {

  /**
   * What was read since the JVM started.
   *
   * @param bytes bytes of data files handed to readers, footers included
   * @param logBytes bytes of all other files: a table's log, and deletion vectors
   * @param requests open, status and list calls, and reads that do not continue the last one
   */
  public record Reads(long bytes, long logBytes, long requests) {
    public Reads minus(Reads earlier) {
      return new Reads(
          bytes - earlier.bytes, logBytes - earlier.logBytes, requests - earlier.requests);
    }
  }

  private static final Map<StorageClass, Pace> OF_THIS_JVM = new ConcurrentHashMap<>();

  private static volatile boolean limited = true;

  private final StorageClass storage;
  private final TokenBucket bucket;
  private final TokenBucket.Clock clock;
  private final LongAdder bytes = new LongAdder();
  private final LongAdder logBytes = new LongAdder();
  private final LongAdder requests = new LongAdder();

  Pace(StorageClass storage, int cores, TokenBucket.Clock clock) {
    this.storage = storage;
    this.clock = clock;
    this.bucket =
        storage.bytesPerSecondPerCore() == 0
            ? null
            : new TokenBucket(storage.bytesPerSecondPerCore() * cores, clock);
  }

  /** The one of this JVM; the first caller's number of cores counts. */
  static Pace ofThisJvm(StorageClass storage, int cores) {
    return OF_THIS_JVM.computeIfAbsent(storage, s -> new Pace(s, cores, TokenBucket.SYSTEM_CLOCK));
  }

  /**
   * Whether the storage classes of this JVM are as slow as they say, as they are at first, or as
   * fast as the machine is. Who waits already waits on.
   */
  public static void limitThisJvm(boolean limit) {
    limited = limit;
  }

  StorageClass storage() {
    return storage;
  }

  /** What all storage classes of this JVM have read so far. */
  public static Reads readsOfThisJvm() {
    long bytes = 0;
    long logBytes = 0;
    long requests = 0;
    for (Pace pace : OF_THIS_JVM.values()) {
      bytes += pace.bytes.sum();
      logBytes += pace.logBytes.sum();
      requests += pace.requests.sum();
    }
    return new Reads(bytes, logBytes, requests);
  }

  /** Requests sent together: each is counted, and they wait for their answers at the same time. */
  void request(int count) throws IOException {
    requests.add(count);
    if (limited) {
      TokenBucket.pause(storage.requestNanos(), clock);
    }
  }

  /**
   * Bytes that a reader is about to be given.
   *
   * @param isData whether they are of a data file
   */
  void transfer(long count, boolean isData) throws IOException {
    (isData ? bytes : logBytes).add(count);
    if (bucket != null && limited) {
      bucket.take(count);
    }
  }
}
