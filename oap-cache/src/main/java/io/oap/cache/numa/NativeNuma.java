package io.oap.cache.numa;

/**
 * The C functions of native/include/oap_numa.h, as native/src/jni registers them. Results are 0, or
 * a file descriptor, or a negative error number.
 */
final class NativeNuma {

  private NativeNuma() {}

  static native int runOn(long[] processors);

  static native int allocateOn(long nodes);

  static native int takeName(String name);

  static native void giveBack(int file);
}
