package io.oap.cache.parquet;

import io.oap.cache.FileRanges;
import io.oap.cache.file.FileIdentities;
import io.oap.cache.file.FileReplacedException;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.FileIdentity;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.hadoop.util.wrapped.io.FutureIO;
import org.apache.parquet.io.ParquetFileRange;
import org.apache.parquet.io.SeekableInputStream;

/**
 * The bytes of one version of a file. The file is opened at the first read, and only that version
 * is ever read: when the file system says after opening, or after ranges were read, that the path
 * has another file by now, the read fails. What is read here may therefore be kept under the file's
 * identity. Not thread-safe.
 */
final class VersionedFileStream extends SeekableInputStream implements FileRanges {
  private static final long READ_TIMEOUT_SECONDS = 300;

  private final FileIdentity identity;
  private final HadoopInputFile inputFile;
  private final CacheCounters counters;
  private SeekableInputStream in;
  private long position;

  VersionedFileStream(FileIdentity identity, HadoopInputFile inputFile, CacheCounters counters) {
    this.identity = identity;
    this.inputFile = inputFile;
    this.counters = counters;
  }

  private SeekableInputStream opened() throws IOException {
    if (in == null) {
      SeekableInputStream stream = inputFile.newStream();
      try {
        // A store with version tags refuses by itself to open another version than the one whose
        // status it was given; elsewhere the file may have been replaced since its status was read.
        if (identity.etag().isEmpty()) {
          requireSameVersion();
        }
        in = stream;
      } finally {
        // Not kept unchecked: Parquet only logs a page index it cannot read, and reads on.
        if (in == null) {
          stream.close();
        }
      }
    }
    return in;
  }

  private void requireSameVersion() throws IOException {
    FileStatus now =
        inputFile
            .getPath()
            .getFileSystem(inputFile.getConfiguration())
            .getFileStatus(inputFile.getPath());
    if (!FileIdentities.of(now).equals(identity)) {
      throw new FileReplacedException(inputFile.getPath());
    }
  }

  /**
   * A store may put other bytes behind a stream that is open. Where the file is gone, those that
   * were read are still of the version that was opened.
   */
  private void requireUnchanged() throws IOException {
    if (identity.etag().isEmpty()) {
      try {
        requireSameVersion();
      } catch (FileNotFoundException e) {
        // Deleted meanwhile.
      }
    }
  }

  @Override
  public List<ByteBuffer> read(List<Range> ranges) throws IOException {
    List<ByteBuffer> buffers = read(opened(), ranges);
    requireUnchanged();
    return buffers;
  }

  private List<ByteBuffer> read(SeekableInputStream stream, List<Range> ranges) throws IOException {
    ByteBufferAllocator allocator = HeapByteBufferAllocator.getInstance();
    if (!stream.readVectoredAvailable(allocator)) {
      return readOneByOne(stream, ranges);
    }
    List<ParquetFileRange> requests = new ArrayList<>(ranges.size());
    for (Range range : ranges) {
      requests.add(new ParquetFileRange(range.offset(), range.length()));
    }
    stream.readVectored(requests, allocator);
    List<ByteBuffer> buffers = new ArrayList<>(ranges.size());
    for (ParquetFileRange request : requests) {
      buffers.add(await(request));
    }
    return buffers;
  }

  private static List<ByteBuffer> readOneByOne(SeekableInputStream stream, List<Range> ranges)
      throws IOException {
    List<ByteBuffer> buffers = new ArrayList<>(ranges.size());
    for (Range range : ranges) {
      byte[] bytes = new byte[range.length()];
      stream.seek(range.offset());
      stream.readFully(bytes);
      buffers.add(ByteBuffer.wrap(bytes));
    }
    return buffers;
  }

  private ByteBuffer await(ParquetFileRange request) throws IOException {
    ByteBuffer buffer;
    try {
      // As Parquet itself waits, so that what went wrong comes out as it would there.
      buffer =
          FutureIO.awaitFuture(request.getDataReadFuture(), READ_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IOException(
          "No answer within "
              + READ_TIMEOUT_SECONDS
              + " s to a read of "
              + request
              + " from "
              + inputFile.getPath(),
          e);
    }
    if (buffer.remaining() != request.getLength()) {
      throw new EOFException(
          "Got " + buffer.remaining() + " bytes for " + request + " of " + inputFile.getPath());
    }
    return buffer;
  }

  /** Reads {@code bytes.length} bytes from {@code offset}, counting them. */
  void readFully(long offset, byte[] bytes) throws IOException {
    position = offset;
    readFully(bytes, 0, bytes.length);
  }

  /** One read of the file: where it moves the position is said by how many bytes it returns. */
  @FunctionalInterface
  private interface Read {
    int from(SeekableInputStream stream) throws IOException;
  }

  private int counted(Read read) throws IOException {
    long start = System.nanoTime();
    SeekableInputStream stream = opened();
    if (stream.getPos() != position) {
      stream.seek(position);
    }
    int bytes = read.from(stream);
    position = stream.getPos();
    counters.read(Math.max(bytes, 0), System.nanoTime() - start);
    return bytes;
  }

  @Override
  public long getPos() {
    return position;
  }

  @Override
  public void seek(long newPosition) {
    position = newPosition;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return counted(stream -> stream.read(one)) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int start, int length) throws IOException {
    return counted(stream -> stream.read(bytes, start, length));
  }

  @Override
  public int read(ByteBuffer buffer) throws IOException {
    return counted(stream -> stream.read(buffer));
  }

  @Override
  public void readFully(byte[] bytes) throws IOException {
    readFully(bytes, 0, bytes.length);
  }

  @Override
  public void readFully(byte[] bytes, int start, int length) throws IOException {
    counted(
        stream -> {
          stream.readFully(bytes, start, length);
          return length;
        });
  }

  @Override
  public void readFully(ByteBuffer buffer) throws IOException {
    int length = buffer.remaining();
    counted(
        stream -> {
          stream.readFully(buffer);
          return length;
        });
  }

  @Override
  public void close() throws IOException {
    if (in != null) {
      in.close();
      in = null;
    }
  }
}
