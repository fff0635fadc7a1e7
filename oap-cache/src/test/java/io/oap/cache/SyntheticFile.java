package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.file.FileRanges;
import io.oap.cache.layout.ChunkRequest;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A file that exists as a function only: each byte follows from the file's number and its position,
 * so that whoever reads it can tell right bytes from wrong ones. Remembers what was read from it.
 */
public final class SyntheticFile implements FileRanges {

  /** What happens before a read is answered. */
  @FunctionalInterface
  public interface Reading {
    void of(List<Range> ranges) throws IOException;
  }

  /** The ranges of each read so far. */
  final List<List<Range>> reads = Collections.synchronizedList(new ArrayList<>());

  private final long number;
  private final Reading reading;

  SyntheticFile(long number) {
    this(number, ranges -> {});
  }

  SyntheticFile(long number, Reading reading) {
    this.number = number;
    this.reading = reading;
  }

  @Override
  public List<ByteBuffer> read(List<Range> ranges) throws IOException {
    reads.add(List.copyOf(ranges));
    reading.of(ranges);
    List<ByteBuffer> buffers = new ArrayList<>();
    for (Range range : ranges) {
      // A buffer that neither starts at 0 nor ends at its capacity, as file systems may return.
      ByteBuffer buffer = ByteBuffer.allocate(range.length() + 7).position(3);
      for (int i = 0; i < range.length(); i++) {
        buffer.put(byteAt(range.offset() + i));
      }
      buffers.add(buffer.flip().position(3));
    }
    return buffers;
  }

  byte byteAt(long offset) {
    long mixed = (number * 1_000_003 + offset) * 0x9E3779B97F4A7C15L;
    return (byte) (mixed >>> 56);
  }

  /** A chunk of this file: its column is also what tells its key from that of others. */
  public ChunkRequest chunk(int column, long offset, int length) {
    return new ChunkRequest(
        ChunkKey.encoded(new FileId(number, ~number), 0, column), offset, length);
  }

  /** Fails unless the chunks are those that were asked for, byte by byte. */
  public void assertHolds(List<ChunkRequest> requests, PinnedChunks held) {
    for (int i = 0; i < requests.size(); i++) {
      ChunkRequest request = requests.get(i);
      ByteBuffer buffer = held.buffer(i);
      assertEquals(request.length(), buffer.remaining(), request::toString);
      for (long at = request.offset(); buffer.hasRemaining(); at++) {
        byte found = buffer.get();
        if (found != byteAt(at)) {
          assertEquals(byteAt(at), found, request + " at " + at);
        }
      }
    }
  }

  /** The ranges of the only read there was. */
  List<Range> onlyRead() {
    assertEquals(1, reads.size(), reads::toString);
    return reads.get(0);
  }

  static List<Range> ranges(long... offsetsAndLengths) {
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < offsetsAndLengths.length; i += 2) {
      ranges.add(new Range(offsetsAndLengths[i], (int) offsetsAndLengths[i + 1]));
    }
    return ranges;
  }

  @Override
  public String toString() {
    return "file " + number + Arrays.toString(reads.toArray());
  }
}
