package io.oap.tpcds.storage;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/**
 * A bandwidth limit shared by all threads of one JVM: the generic cell rate algorithm (ITU-T
 * I.371), which is a token bucket that keeps one instant instead of a token count.
 *
 * <p>{@code paidUntil} is the instant at which everything taken so far has been paid for. Taking n
 * bytes moves it by n / rate; who took them waits until it has passed. An idle bucket earns at most
 * {@code burstNanos} of credit, so a late wake-up is made good by the next taker and the long-run
 * rate is exact, while a long pause does not let a whole file through at once. Takers are served in
 * the order of their calls. Thread-safe.
 */
public final class TokenBucket {

  /** The time, so that tests need none. */
  interface Clock {
    /** Monotonic nanoseconds. */
    long nanoTime();

    /** Returns after at least this many nanoseconds. */
    void sleep(long nanos) throws InterruptedException;
  }

  static final Clock SYSTEM_CLOCK =
      new Clock() {
        @Override
        public long nanoTime() {
          return System.nanoTime();
        }

        @Override
        public void sleep(long nanos) throws InterruptedException {
          TimeUnit.NANOSECONDS.sleep(nanos);
        }
      };

  private static final long BURST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final double nanosPerByte;
  private final long burstNanos;
  private final Clock clock;
  private long paidUntil;

  /**
   * @param bytesPerSecond the rate, above 0
   * @param clock where the time comes from
   */
  TokenBucket(double bytesPerSecond, Clock clock) {
    this(bytesPerSecond, BURST_NANOS, clock);
  }

  /**
   * @param burstNanos the credit that an idle bucket earns at most, as the time in which it flows
   */
  TokenBucket(double bytesPerSecond, long burstNanos, Clock clock) {
    if (!(bytesPerSecond > 0)) {
      throw new IllegalArgumentException("bytes per second: " + bytesPerSecond);
    }
    this.nanosPerByte = TimeUnit.SECONDS.toNanos(1) / bytesPerSecond;
    this.burstNanos = burstNanos;
    this.clock = clock;
    this.paidUntil = clock.nanoTime();
  }

  /**
   * Takes bytes and waits until they are paid for. However many there are, they are taken at once:
   * one large read waits as long as the same bytes in small reads.
   *
   * @throws InterruptedIOException when the thread is interrupted while it waits; the bytes stay
   *     taken
   */
  void take(long bytes) throws IOException {
    long wait;
    synchronized (this) {
      long now = clock.nanoTime();
      // Differences, not comparisons: nanoTime may wrap.
      if (paidUntil - (now - burstNanos) < 0) {
        paidUntil = now - burstNanos;
      }
      paidUntil += Math.round(bytes * nanosPerByte);
      wait = paidUntil - now;
    }
    pause(wait, clock);
  }

  /** Sleeps, as an I/O call: an interrupt surfaces as an {@link InterruptedIOException}. */
  static void pause(long nanos, Clock clock) throws IOException {
    if (nanos <= 0) {
      return;
    }
    try {
      clock.sleep(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted while reading").initCause(e);
    }
  }
}
