package io.oap.cache.tier;

import java.nio.ByteBuffer;

/**
 * The C functions of native/include/oap_tier.h, as native/src/jni registers them. Results are 0 or
 * a negative error number; a key travels as four longs, the third holding row group and column.
 */
final class NativeTier {

  private NativeTier() {}

  static native int open(byte[] path, long capacity, long[] out);

  static native int follow(long tier, long pool);

  static native void came(long tier, long high, long low, long groupAndColumn, long representation);

  static native void wake(long tier);

  static native long find(long tier, long high, long low, long groupAndColumn, long representation);

  static native int read(
      long tier,
      long high,
      long low,
      long groupAndColumn,
      long representation,
      ByteBuffer[] into,
      long[] note);

  static native int drop(long tier, long high, long low, long groupAndColumn, long representation);

  static native void dropFile(long tier, long high, long low);

  static native void clear(long tier);

  static native void stats(long tier, long[] out);

  static native void stop(long tier);

  static native void close(long tier);
}
