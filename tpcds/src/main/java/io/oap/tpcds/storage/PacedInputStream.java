package io.oap.tpcds.storage;

import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.ByteBufferReadable;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.VectoredReadUtils;

/**
 * One open file of a {@link PacedFileSystem}. Each byte it gives passes the bucket and is counted,
 * in the JVM's {@link Pace} and in Hadoop's statistics of the calling thread (from which Spark
 * takes a task's input bytes), whichever of the read calls it came by.
 *
 * <p>A request is what an object store would be asked: a read that does not begin where the last
 * one ended, or one range of a vectored read. As any Hadoop stream, for one thread at a time,
 * except for the positioned reads.
 */
final class PacedInputStream extends FSInputStream
    implements ByteBufferReadable, StreamCapabilities {

  private final FileChannel channel;
  private final boolean isData;
  private final Pace pace;
  private final FileSystem.Statistics statistics;
  private long position;
  private long endOfLastRead = -1;

  /**
   * @throws java.io.FileNotFoundException when there is no such file, or it is a directory
   */
  PacedInputStream(File file, Pace pace, FileSystem.Statistics statistics) throws IOException {
    this.channel = new FileInputStream(file).getChannel();
    this.isData = DataFiles.contain(file);
    this.pace = pace;
    this.statistics = statistics;
  }

  @Override
  public int read() throws IOException {
    ByteBuffer one = ByteBuffer.allocate(1);
    return read(one) < 0 ? -1 : one.get(0) & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    return read(ByteBuffer.wrap(buffer, offset, length));
  }

  @Override
  public int read(ByteBuffer buffer) throws IOException {
    if (!buffer.hasRemaining()) {
      return 0;
    }
    if (position != endOfLastRead) {
      pace.request(1);
    }
    int read = transfer(position, buffer);
    if (read > 0) {
      position += read;
      endOfLastRead = position;
    }
    return read;
  }

  @Override
  public int read(long from, byte[] buffer, int offset, int length) throws IOException {
    validatePositionedReadArgs(from, buffer, offset, length);
    if (length == 0) {
      return 0;
    }
    pace.request(1);
    return transfer(from, ByteBuffer.wrap(buffer, offset, length));
  }

  @Override
  public void readFully(long from, byte[] buffer, int offset, int length) throws IOException {
    validatePositionedReadArgs(from, buffer, offset, length);
    if (length > 0) {
      pace.request(1);
      fill(from, ByteBuffer.wrap(buffer, offset, length));
    }
  }

  @Override
  public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate)
      throws IOException {
    List<? extends FileRange> sorted =
        VectoredReadUtils.validateAndSortRanges(ranges, Optional.of(channel.size()));
    if (sorted.isEmpty()) {
      return;
    }
    pace.request(sorted.size());
    for (FileRange range : sorted) {
      CompletableFuture<ByteBuffer> result = new CompletableFuture<>();
      range.setData(result);
      try {
        ByteBuffer buffer = allocate.apply(range.getLength());
        ByteBuffer part = buffer.duplicate().limit(buffer.position() + range.getLength());
        fill(range.getOffset(), part);
        result.complete(buffer.limit(part.limit()));
      } catch (IOException e) {
        result.completeExceptionally(e);
      }
    }
  }

  private void fill(long from, ByteBuffer buffer) throws IOException {
    long at = from;
    while (buffer.hasRemaining()) {
      int read = transfer(at, buffer);
      if (read < 0) {
        throw new EOFException("end of file at " + at);
      }
      at += read;
    }
  }

  private int transfer(long from, ByteBuffer buffer) throws IOException {
    int read = channel.read(buffer, from);
    if (read > 0) {
      pace.transfer(read, isData);
      statistics.incrementBytesRead(read);
    }
    return read;
  }

  @Override
  public void seek(long target) throws IOException {
    if (target < 0 || target > channel.size()) {
      throw new EOFException("seek to " + target + " of " + channel.size() + " bytes");
    }
    position = target;
  }

  @Override
  public long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public int available() throws IOException {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(0, channel.size() - position));
  }

  @Override
  public boolean hasCapability(String capability) {
    return switch (capability.toLowerCase(Locale.ROOT)) {
      case VECTOREDIO, READBYTEBUFFER -> true;
      default -> false;
    };
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
