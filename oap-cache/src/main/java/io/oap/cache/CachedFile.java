package io.oap.cache;

import io.oap.cache.file.FileSource;
import io.oap.common.FileIdentity;

/**
 * One version of a file, as a reader of any library sees it that knows nothing of the cache: bytes
 * by position. Thread-safe.
 */
public final class CachedFile {
  private final FileSource source;
  private final LayoutReader layouts;
  private final ColumnCache cache;
  private final ReadContext context;

  /**
   * @param source opened for what the cache lacks only
   * @param layouts of the file's format
   * @param context belongs to one task, whose threads read one after the other
   */
  public CachedFile(
      FileSource source, LayoutReader layouts, ColumnCache cache, ReadContext context) {
    this.source = source;
    this.layouts = layouts;
    this.cache = cache;
    this.context = context;
  }

  /** Which version of the file this is; its length is known from here. */
  public FileIdentity identity() {
    return source.identity();
  }

  /** A stream for one thread, to be closed by the caller. The file itself stays closed for now. */
  public CachedFileStream open() {
    return new CachedFileStream(source, layouts, cache, context);
  }
}
