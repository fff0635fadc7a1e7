package io.oap.cache.vector;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.Reservation;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Scanning a cached column of ints with an IN-filter of 31 keys: pin, open, filter each zone,
 * unpack the rows that match, unpin. An operation is a row of the column.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class SelectBenchmark {

  private static final int ROWS = 1 << 20;
  private static final ChunkKey KEY = ChunkKey.encoded(new FileId(1, 1), 0, 0);

  /** Whether the 31 keys have no gaps, lie in a bitmap or in a hash table. */
  @Param({"range", "bitmap", "table"})
  public String form;

  private ColumnPool pool;
  private KeySet keys;
  private final NativeBuffer values = new NativeBuffer(4 * VectorChunk.ZONE_ROWS);
  private final NativeBuffer nulls = new NativeBuffer(VectorChunk.ZONE_ROWS);
  private final NativeBuffer selection = new NativeBuffer(2 * VectorChunk.ZONE_ROWS);

  /** Runs all of them, with the figures of the garbage collector. */
  public static void main(String[] args) throws RunnerException {
    new Runner(
            new OptionsBuilder()
                .include(SelectBenchmark.class.getName())
                .addProfiler(GCProfiler.class)
                .build())
        .run();
  }

  /** A column of 1823 different days, a row in 22 null. */
  @Setup
  public void fill() {
    pool = ColumnPool.open(PoolOptions.anonymous(64 << 20));
    Random random = new Random(7);
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I32)) {
      for (int row = 0; row < ROWS; row += VectorChunk.ZONE_ROWS) {
        for (int i = 0; i < VectorChunk.ZONE_ROWS; i++) {
          values.buffer().putInt(4 * i, 2_450_816 + random.nextInt(1823));
          nulls.buffer().put(i, (byte) (random.nextInt(22) == 0 ? 1 : 0));
        }
        encoder.add(values.address(), nulls.address(), VectorChunk.ZONE_ROWS);
      }
      try (Reservation reservation = pool.reserve(KEY, encoder.finish())) {
        encoder.write(reservation);
        reservation.publish().close();
      }
    }
    long[] days = new long[31];
    for (int i = 0; i < days.length; i++) {
      days[i] = 2_451_000 + (form.equals("range") ? i : random.nextInt(1823));
    }
    if (form.equals("table")) {
      days[0] = 1L << 40;
    }
    keys = KeySet.of(days);
  }

  @TearDown
  public void close() {
    keys.close();
    pool.close();
  }

  /** The whole column once. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int scan() {
    int survivors = 0;
    try (Pin pin = pool.pin(KEY);
        VectorChunk chunk = VectorChunk.open(pin)) {
      for (int zone = 0; zone < chunk.zones(); zone++) {
        int found = chunk.selectIn(zone, keys, 0, 0, selection.address());
        if (found > 0) {
          chunk.unpack(zone, selection.address(), found, values.address(), nulls.address());
          survivors += found;
        }
      }
    }
    return survivors;
  }
}
