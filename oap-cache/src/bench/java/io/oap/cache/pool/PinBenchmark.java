package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** What a hit costs from Java, in time and in bytes on the heap. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class PinBenchmark {

  private static final int CHUNKS = 1024;

  private ColumnPool pool;
  private ChunkKey[] keys;

  /** Runs all of them, with the figures of the garbage collector. */
  public static void main(String[] args) throws RunnerException {
    new Runner(
            new OptionsBuilder()
                .include(PinBenchmark.class.getName())
                .addProfiler(GCProfiler.class)
                .build())
        .run();
  }

  @Setup
  public void fill() {
    pool = ColumnPool.open(PoolOptions.anonymous(64 << 20));
    keys = new ChunkKey[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
      keys[i] = ChunkKey.encoded(new FileId(i, -i), 0, i);
      try (Reservation reservation = pool.reserve(keys[i], 1024)) {
        reservation.publish().close();
      }
    }
  }

  @TearDown
  public void close() {
    pool.close();
  }

  private ChunkKey anyKey() {
    return keys[ThreadLocalRandom.current().nextInt(CHUNKS)];
  }

  @Benchmark
  public long pinAndClose() {
    try (Pin pin = pool.pin(anyKey())) {
      return pin.bytes();
    }
  }

  @Benchmark
  public byte pinAndReadOneByte() {
    try (Pin pin = pool.pin(anyKey())) {
      return pin.piece(0).get(17);
    }
  }

  @Benchmark
  public boolean isHeld() {
    return pool.isHeld(anyKey());
  }
}
