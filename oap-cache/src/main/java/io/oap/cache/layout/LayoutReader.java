package io.oap.cache.layout;

import io.oap.cache.file.FileStream;
import io.oap.common.FileIdentity;
import java.io.IOException;

/** Finds out the layout of files of one format. Thread-safe. */
@FunctionalInterface
public interface LayoutReader {

  /**
   * Reads a file's layout, from the end of the file as far as the format allows it.
   *
   * @param file not to be closed
   * @param mostBytes how much heap a layout may take that is put together from many reads; it would
   *     not stay for the next reader
   * @throws IOException when the file cannot be read
   * @throws RuntimeException when the file is not of this format, or is not for the cache
   */
  FileLayout read(FileStream file, FileIdentity identity, long mostBytes) throws IOException;
}
