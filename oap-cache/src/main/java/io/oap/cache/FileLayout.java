package io.oap.cache;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.file.MetadataCache;
import io.oap.common.FileIdentity;

/**
 * Where the chunks and the small structures of one file lie, whatever its format. Immutable, shared
 * by all readers of the file.
 */
public interface FileLayout extends MetadataCache.Footer {

  /** The chunk in which a byte of the file lies, or null. */
  ChunkRequest chunkAt(long offset);

  /**
   * The dictionary page, bloom filter, index or the like in which a byte lies, or null. It may be a
   * part of a chunk. A part of the file that has a structure is kept whole on the Java heap.
   */
  Range structureAt(long offset);

  /** The bytes of a structure, if they had to be read to know the layout; else null. */
  default byte[] structure(Range range) {
    return null;
  }

  /**
   * Position of the first byte behind {@code offset} with which a chunk, a structure or the footer
   * begins; {@link Long#MAX_VALUE} where there is none.
   */
  long nextKnown(long offset);

  /**
   * Position of the first byte of what readers parse before all else, which reaches to the end of
   * the file and is kept as a structure is; {@link Long#MAX_VALUE} where the file is not for the
   * cache.
   */
  long footerStart();

  /** What the pool's keys for this file stand for. */
  KnownFile describe(FileIdentity identity);
}
