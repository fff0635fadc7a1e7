package io.oap.cache.vector;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;

/**
 * The C functions of native/include/oap_vector.h, as native/src/jni registers them. Results are
 * those of the C functions or a negative error number; addresses and native objects are longs;
 * pieces are address and length in turn.
 */
final class NativeVector {

  /** Closes native objects once nothing refers to their Java objects any more. */
  static final Cleaner CLEANER = Cleaner.create();

  private NativeVector() {}

  static native long address(ByteBuffer buffer);

  static native String kernels();

  static native long encoderOpen(int kind);

  static native void encoderClose(long encoder);

  static native int encoderAdd(long encoder, long values, long nulls, int rows);

  static native int encoderAddBytes(
      long encoder, long addresses, long lengths, long nulls, int rows);

  static native int encoderAddIds(long encoder, long ids, long nulls, int rows);

  static native void encoderLearn(long encoder, long ids);

  static native long encoderFinish(long encoder);

  static native int encoderWrite(long encoder, long[] pieces);

  static native long encoderMemory(long encoder);

  static native long open(long[] pieces);

  static native long openDecoded(int kind);

  static native int setDecoded(long chunk, long values, long nulls, int rows);

  static native void close(long chunk);

  static native int kind(long chunk);

  static native int rows(long chunk);

  static native int dictionaryEntries(long chunk);

  static native long zoneMinimum(long chunk, int zone);

  static native long zoneMaximum(long chunk, int zone);

  static native int zoneNulls(long chunk, int zone);

  static native int zoneEncoding(long chunk, int zone);

  static native int zoneWidth(long chunk, int zone);

  static native long zoneBytes(long chunk, int zone);

  static native boolean hasCodes(long chunk, int zone);

  static native int unpack(long chunk, int zone, long rows, int count, long values, long nulls);

  static native int unpackBytes(
      long chunk, int zone, long rows, int count, long addresses, long lengths, long nulls);

  static native int dictionary(long chunk, long values);

  static native int dictionaryBytes(long chunk, long addresses, long lengths);

  static native int decideIn(long chunk, int zone, long set);

  static native int decideRange(long chunk, int zone, long low, long high);

  static native int decideDoubles(
      long chunk, int zone, double low, boolean lowIsOpen, double high, boolean highIsOpen);

  static native int decidePrefix(long chunk, int zone, long low, long high);

  static native int selectIn(long chunk, int zone, long set, long rows, int count, long out);

  static native int selectRange(
      long chunk, int zone, long low, long high, long rows, int count, long out);

  static native int selectDoubles(
      long chunk,
      int zone,
      double low,
      boolean lowIsOpen,
      double high,
      boolean highIsOpen,
      long rows,
      int count,
      long out);

  static native int selectCodes(long chunk, int zone, long matches, long rows, int count, long out);

  static native int selectNull(
      long chunk, int zone, boolean isNull, long rows, int count, long out);

  static native long keySetOpen(long[] keys);

  static native void keySetClose(long set);

  static native long keySetSize(long set);

  static native long keySetMinimum(long set);

  static native long keySetMaximum(long set);

  static native long keySetMemory(long set);

  static native boolean keySetMeets(long set, long low, long high);
}
