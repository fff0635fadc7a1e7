package io.oap.cache.pool;

/** Where a pool's chunks lie; the order is that of oap_medium in native/. */
public enum Medium {
  /** Anonymous memory, in huge pages where there are any. */
  DRAM("anonymous memory"),
  /** Memory on given memory nodes: CXL, HBM, persistent memory as system-ram. */
  NODE("memory of nodes"),
  /** An unnamed file in each directory, all its space reserved at open. */
  FILE("a file in"),
  /** Files on a file system that maps persistent memory directly (mounted with dax). */
  FSDAX("a file on the DAX file system of"),
  /** Each character device, /dev/daxX.Y. */
  DEVDAX("the DAX device");

  private final String phrase;

  Medium(String phrase) {
    this.phrase = phrase;
  }

  /** Whether it needs paths. */
  public boolean isOnPaths() {
    return this == FILE || this == FSDAX || this == DEVDAX;
  }

  String phrase() {
    return phrase;
  }
}
