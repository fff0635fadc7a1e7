package io.oap.cache.file;

import io.oap.common.FileIdentity;

/** One version of a file, from which what the cache does not hold is read. Thread-safe. */
public interface FileSource {

  /** Which version of which file this is; its length is known from here. */
  FileIdentity identity();

  /**
   * Whether the store is asked after each read of ranges if the path still has this version; then
   * bytes by position cost less.
   */
  default boolean isAskedAfterRanges() {
    return false;
  }

  /** A stream of this version for one thread, to be closed by the caller. */
  FileStream open();
}
