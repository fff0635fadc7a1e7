package io.oap.cache.model;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.NativeLibrary;
import io.oap.cache.pool.PoolException;
import io.oap.cache.pool.PoolOptions;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * A model of a pool at several capacities, fed with what readers ask for; the Java face of
 * native/include/oap_capacity_model.h. The representation of a chunk is of no concern here.
 *
 * <p>Thread-safe, {@link #close} included: what a closed model is told is lost. Telling it takes no
 * lock and allocates nothing.
 */
public final class CapacityModel implements AutoCloseable {

  private static final Cleaner CLEANER = Cleaner.create();

  private final long model;

  private CapacityModel(long model) {
    this.model = model;
    // close() ends its thread; the memory goes when no thread can be in a call any more.
    CLEANER.register(this, () -> NativeCapacityModel.close(model));
  }

  /**
   * Opens a model of an empty pool.
   *
   * @param policy as {@link PoolOptions#policy}
   * @throws PoolException when there is no memory or no thread for it
   */
  public static CapacityModel open(String policy, long capacityBytes) throws PoolException {
    NativeLibrary.ensureLoaded();
    long[] model = new long[1];
    int error = -NativeCapacityModel.open(policy, capacityBytes, model);
    if (error != 0) {
      throw new PoolException(
          error, "Cannot model the pool's capacity" + PoolException.reason(error));
    }
    return new CapacityModel(model[0]);
  }

  /**
   * A reader has asked for a chunk.
   *
   * @param bytes what it takes of the pool, or would
   * @param weight what it counts in hit ratios
   * @param wasHeld whether the pool had it
   */
  public void ask(ChunkKey key, long bytes, long weight, boolean wasHeld, Admission admission) {
    NativeCapacityModel.ask(
        model,
        key.file().high(),
        key.file().low(),
        key.groupAndColumn(),
        bytes,
        weight,
        wasHeld,
        admission.ordinal());
    Reference.reachabilityFence(this);
  }

  /**
   * A chunk has entered the pool without being asked for, or in place of its other representation.
   */
  public void put(ChunkKey key, long bytes) {
    FileId file = key.file();
    NativeCapacityModel.put(model, file.high(), file.low(), key.groupAndColumn(), bytes);
    Reference.reachabilityFence(this);
  }

  /** A chunk has been dropped. */
  public void drop(ChunkKey key) {
    FileId file = key.file();
    NativeCapacityModel.drop(model, file.high(), file.low(), key.groupAndColumn());
    Reference.reachabilityFence(this);
  }

  /** All chunks of a file have been dropped. */
  public void drop(FileId file) {
    NativeCapacityModel.dropFile(model, file.high(), file.low());
    Reference.reachabilityFence(this);
  }

  /** The pool has another capacity now; what was counted so far is forgotten. */
  public void resize(long capacityBytes) {
    NativeCapacityModel.resize(model, capacityBytes);
    Reference.reachabilityFence(this);
  }

  /** All chunks have been dropped; what was counted so far is forgotten. */
  public void clear() {
    NativeCapacityModel.clear(model);
    Reference.reachabilityFence(this);
  }

  /** What was asked for so far comes to. */
  public CapacityEstimates estimates() {
    long[] out = new long[1 + CapacityEstimates.PERCENTS.size()];
    NativeCapacityModel.estimate(model, out);
    Reference.reachabilityFence(this);
    return new CapacityEstimates(out[0], Arrays.stream(out).skip(1).boxed().toList());
  }

  @Override
  public void close() {
    NativeCapacityModel.stop(model);
    Reference.reachabilityFence(this);
  }
}
