package io.oap.cache.vector;

/** How the values of a vector chunk lie in memory; {@code oap_kind} of oap_vector.h. */
public enum VectorKind {
  /** One byte each: boolean (0 or 1), byte. */
  I8(1),
  /** Two bytes: short. */
  I16(2),
  /** Four bytes: int, date, decimals of at most 9 digits. */
  I32(4),
  /** Eight bytes: long, timestamp, timestamp_ntz, decimals of at most 18 digits. */
  I64(8),
  /** Four bytes, IEEE 754: float. */
  F32(4),
  /** Eight bytes, IEEE 754: double. */
  F64(8),
  /** Any number of bytes each: string, binary, decimals of more digits as two's complement. */
  BYTES(0);

  private static final VectorKind[] ALL = values();

  private final int bytes;

  VectorKind(int bytes) {
    this.bytes = bytes;
  }

  /** Bytes of a value; 0 for {@link #BYTES}. */
  public int bytes() {
    return bytes;
  }

  /** Its number in chunks. */
  int number() {
    return ordinal() + 1;
  }

  static VectorKind of(int number) {
    return ALL[number - 1];
  }
}
