package io.oap.cache.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Reads ranges of one file; what the chunk cache loads from. */
@FunctionalInterface
public interface FileRanges {

  /**
   * A run of bytes of the file.
   *
   * @param offset position of the first byte
   * @param length bytes
   */
  record Range(long offset, int length) {

    /** Position of the first byte behind the range. */
    public long end() {
      return offset + length;
    }

    /** Whether a byte lies in the range. */
    public boolean contains(long position) {
      return position >= offset && position < end();
    }
  }

  /**
   * Reads all ranges, in whatever order or parallelism suits the file system.
   *
   * @param ranges disjoint, ascending
   * @return one buffer a range, in the same order, each holding exactly that range between position
   *     and limit
   * @throws IOException when a range cannot be read in full
   */
  List<ByteBuffer> read(List<Range> ranges) throws IOException;
}
