package io.oap.cache.pool;

import java.nio.ByteBuffer;

/**
 * The C functions of native/include/oap_pool.h, as native/src/jni registers them. Results are 0 or
 * a negative error number; a key travels as four longs, the third holding row group and column;
 * {@code out} is the address of {@link ChunkStruct}.
 */
final class NativePool {

  private NativePool() {}

  static native String version();

  static native String errorText(int errno);

  static native long address(ByteBuffer buffer);

  static native int open(
      long capacity,
      int medium,
      byte[] paths,
      int pathCount,
      long nodes,
      boolean interleaved,
      boolean prefaulted,
      boolean erased,
      int keepSeconds,
      boolean shared,
      String policy,
      int shards,
      long[] out);

  static native byte[] origin(long pool, long[] numbers, boolean home);

  static native int members(long pool);

  static native int retire(long pool);

  static native int close(long pool);

  static native int resize(long pool, long capacity);

  static native ByteBuffer window(long pool, int i);

  static native int reserve(
      long pool,
      long high,
      long low,
      long groupAndColumn,
      long representation,
      long bytes,
      boolean mayEvict,
      int asks,
      long out);

  static native int publish(long pool, long slotAndGeneration, int shard, long bytes);

  static native int setNote(long pool, long slotAndGeneration, int shard, long note);

  static native long note(long pool, long slotAndGeneration, int shard);

  static native int isReadable(long pool, long slotAndGeneration, int shard);

  static native int abandon(long pool, long slotAndGeneration, int shard, long bytes);

  static native int pin(
      long pool,
      long high,
      long low,
      long groupAndColumn,
      long representation,
      boolean isUse,
      long out);

  static native int unpin(long pool, long slotAndGeneration, int shard, long bytes);

  static native int await(
      long pool, long high, long low, long groupAndColumn, long representation, int milliseconds);

  static native boolean isHeld(
      long pool, long high, long low, long groupAndColumn, long representation);

  static native int drop(long pool, long high, long low, long groupAndColumn, long representation);

  static native long dropFile(long pool, long high, long low);

  static native long clear(long pool);

  static native void stats(long pool, long[] out);

  static native boolean hasLostWrites(long pool);

  static native int nodes(long pool, long[] out);

  static native long contentVersion(long pool);

  static native long snapshot(long pool, long out, long room, long version);

  static native String validate(long pool);
}
