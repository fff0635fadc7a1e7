package io.oap.cache.layout;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.file.MetadataCache;
import io.oap.common.FileIdentity;

/**
 * Where the chunks and the small structures of one file lie, whatever its format. Immutable, shared
 * by all readers of the file.
 */
public interface FileLayout extends MetadataCache.Footer {

  /** Chunks and structures by position; the footer is not among them. */
  LayoutIndex index();

  /** The bytes of a structure, not to be changed, if the layout has told them; else null. */
  default byte[] structure(Range range) {
    return null;
  }

  /**
   * Position of the first byte of what readers parse before all else, which reaches to the end of
   * the file and is kept as a structure is; {@link Long#MAX_VALUE} where the file is not for the
   * cache.
   */
  long footerStart();

  /** What the pool's keys for this file stand for. */
  KnownFile describe(FileIdentity identity);
}
