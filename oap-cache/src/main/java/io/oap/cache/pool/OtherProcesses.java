package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.lang.ref.Reference;

/** The processes that have a pool together, as one of them sees it. Thread-safe. */
public final class OtherProcesses {

  /** How long a waiting thread does not look whether it is interrupted. */
  private static final int AWAITED_MILLIS = 20;

  private final ColumnPool pool;

  public OtherProcesses(ColumnPool pool) {
    this.pool = pool;
  }

  /**
   * Waits while another process loads a chunk, and no longer than that.
   *
   * @param nanos the most
   */
  public void awaitLoad(ChunkKey key, long nanos) throws InterruptedException {
    FileId file = key.file();
    long end = System.nanoTime() + nanos;
    int error;
    do {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      error =
          -NativePool.await(
              pool.address(),
              file.high(),
              file.low(),
              key.groupAndColumn(),
              key.representation(),
              AWAITED_MILLIS);
      Reference.reachabilityFence(pool);
    } while (error == Errno.ETIMEDOUT && System.nanoTime() - end < 0);
  }
}
