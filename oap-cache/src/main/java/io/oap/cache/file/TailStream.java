package io.oap.cache.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A file whose last bytes are read at once and kept: a format's footer, its length and its magic
 * number cost one request instead of one each. Not thread-safe.
 */
public final class TailStream implements FileStream {
  private final FileStream file;
  private final long length;
  private final int tailBytes;
  private ByteBuffer tail;

  /**
   * @param file closed with this
   * @param length bytes of the file
   * @param tailBytes how many are read at the first read of any of them
   */
  public TailStream(FileStream file, long length, int tailBytes) {
    this.file = file;
    this.length = length;
    this.tailBytes = (int) Math.min(length, tailBytes);
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
    ByteBuffer[] buffers = new ByteBuffer[ranges.size()];
    List<Range> others = new ArrayList<>();
    for (int i = 0; i < buffers.length; i++) {
      if (ranges.get(i).offset() < tailStart()) {
        others.add(ranges.get(i));
      } else {
        buffers[i] = inTail(ranges.get(i));
      }
    }
    if (!others.isEmpty()) {
      List<ByteBuffer> read = file.read(others);
      // Ranges ascend, so those before the tail come first.
      for (int i = 0; i < read.size(); i++) {
        buffers[i] = read.get(i);
      }
    }
    return Arrays.asList(buffers);
  }

  private ByteBuffer inTail(Range range) throws IOException {
    if (tail == null) {
      tail = file.read(List.of(new Range(tailStart(), tailBytes))).get(0);
    }
    int at = Math.toIntExact(range.offset() - tailStart());
    return tail.slice(tail.position() + at, range.length());
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
