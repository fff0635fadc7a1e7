package io.oap.cache.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * A file whose last bytes are read at once and kept: a format's footer, its length and its magic
 * number cost one request instead of one each. Not thread-safe.
 */
public final class TailStream implements FileStream {
  /** A file of at most so many bytes is read whole: further requests would cost more than bytes. */
  private static final int SMALL_FILE_BYTES = 1 << 20;

  /** Most footers lie in so many bytes. */
  private static final int FOOTER_BYTES = 128 << 10;

  private final FileStream file;
  private final long length;
  private final int tailBytes;
  private final LongConsumer beyond;
  private ByteBuffer tail;

  /**
   * @param file closed with this
   * @param length bytes of the file
   * @param tailBytes how many are read at the first read of any of them
   * @param beyond told how many bytes of the file were read beyond those that a caller has asked
   *     for; a negative number where these had been read before
   */
  public TailStream(FileStream file, long length, int tailBytes, LongConsumer beyond) {
    this.file = file;
    this.length = length;
    this.tailBytes = (int) Math.min(length, tailBytes);
    this.beyond = beyond;
  }

  /**
   * @param file closed with this
   * @param length bytes of the file
   * @param tail its last bytes, which were read before
   * @param beyond as of the other constructor
   */
  public TailStream(FileStream file, long length, ByteBuffer tail, LongConsumer beyond) {
    this(file, length, tail.remaining(), beyond);
    this.tail = tail;
  }

  /** Whether a file of so many bytes is read whole by who needs its footer. */
  public static boolean isSmall(long length) {
    return length <= SMALL_FILE_BYTES;
  }

  /** How many bytes to read at the end of a file of this length by who needs its footer. */
  public static int bytesFor(long length) {
    return isSmall(length) ? (int) length : FOOTER_BYTES;
  }

  /** The last bytes, which are not to be changed; null as long as none of them was read. */
  public ByteBuffer tail() {
    return tail;
  }

  private long tailStart() {
    return length - tailBytes;
  }

  @Override
  public int read(long position, ByteBuffer into) throws IOException {
    if (position < tailStart() || position >= length || !into.hasRemaining()) {
      return file.read(position, into);
    }
    int count = (int) Math.min(into.remaining(), length - position);
    into.put(inTail(new Range(position, count)));
    return count;
  }

  @Override
  public List<ByteBuffer> read(List<Range> ranges) throws IOException {
    List<Range> others = ranges.stream().filter(range -> !isInTail(range)).toList();
    Iterator<ByteBuffer> read = others.isEmpty() ? null : file.read(others).iterator();
    List<ByteBuffer> buffers = new ArrayList<>(ranges.size());
    for (Range range : ranges) {
      buffers.add(isInTail(range) ? inTail(range) : read.next());
    }
    return buffers;
  }

  /** A damaged footer may say that something lies behind the end. */
  private boolean isInTail(Range range) {
    return range.offset() >= tailStart() && range.end() <= length;
  }

  private ByteBuffer inTail(Range range) throws IOException {
    if (tail == null) {
      tail = file.read(List.of(new Range(tailStart(), tailBytes))).get(0);
      beyond.accept(tailBytes);
    }
    beyond.accept(-range.length());
    int at = Math.toIntExact(range.offset() - tailStart());
    return tail.slice(tail.position() + at, range.length());
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
