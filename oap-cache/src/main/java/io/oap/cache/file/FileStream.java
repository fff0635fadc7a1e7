package io.oap.cache.file;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
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

  /**
   * Reads what a stream has next into a buffer of any kind.
   *
   * @return how many bytes; -1 at the end of the stream
   */
  static int read(InputStream in, ByteBuffer into) throws IOException {
    byte[] bytes = into.hasArray() ? into.array() : new byte[into.remaining()];
    int start = into.hasArray() ? into.arrayOffset() + into.position() : 0;
    int count = in.read(bytes, start, into.remaining());
    if (count > 0 && into.hasArray()) {
      into.position(into.position() + count);
    } else if (count > 0) {
      into.put(bytes, 0, count);
    }
    return count;
  }
}
