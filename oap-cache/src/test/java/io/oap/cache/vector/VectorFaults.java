package io.oap.cache.vector;

/** Faults of vector chunks, for tests of what stands over them. */
public final class VectorFaults {
  private static final int ENOMEM = 12;

  private VectorFaults() {}

  /** What is thrown where native memory runs out. */
  public static VectorException outOfMemory() {
    try {
      VectorException.check(-ENOMEM);
    } catch (VectorException e) {
      return e;
    }
    throw new AssertionError("no error");
  }
}
