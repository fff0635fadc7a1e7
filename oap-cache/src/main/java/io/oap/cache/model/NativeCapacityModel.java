package io.oap.cache.model;

/**
 * The C functions of native/include/oap_capacity_model.h, as native/src/jni registers them. A
 * column chunk travels as three longs, the third holding row group and column.
 */
final class NativeCapacityModel {

  private NativeCapacityModel() {}

  static native int open(String policy, long capacity, long[] out);

  static native void stop(long model);

  static native void close(long model);

  static native void ask(
      long model,
      long high,
      long low,
      long groupAndColumn,
      long bytes,
      long weight,
      boolean wasHeld,
      int admission);

  static native void put(long model, long high, long low, long groupAndColumn, long bytes);

  static native void drop(long model, long high, long low, long groupAndColumn);

  static native void dropFile(long model, long high, long low);

  static native void resize(long model, long capacity);

  static native void clear(long model);

  static native void estimate(long model, long[] out);
}
