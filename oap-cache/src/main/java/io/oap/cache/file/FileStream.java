package io.oap.cache.file;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The bytes of one version of a file. The file is opened at the first read. A read fails with
 * {@link FileReplacedException} when the path has another file by now; so what is read here may be
 * kept under the identity of the file. Not thread-safe.
 */
public interface FileStream extends FileRanges, Closeable {

  /**
   * Reads some bytes from a position on.
   *
   * @param into gets at most as many bytes as it has room for
   * @return how many; -1 at the end of the file
   */
  int read(long position, ByteBuffer into) throws IOException;
}
