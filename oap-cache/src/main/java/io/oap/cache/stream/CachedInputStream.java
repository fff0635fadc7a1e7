package io.oap.cache.stream;

import io.oap.cache.file.FileRanges.Range;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.ByteBufferReadable;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.VectoredReadUtils;

/**
 * A file as Hadoop's readers see it, with its bytes from the cache. Reads at a position may come
 * from any thread, as Hadoop wants it; they take turns.
 */
public final class CachedInputStream extends FSInputStream
    implements ByteBufferReadable, StreamCapabilities {
  private final CachedFileStream file;
  private long position;

  /**
   * @param file closed with this
   */
  public CachedInputStream(CachedFileStream file) {
    this.file = file;
  }

  @Override
  public synchronized void seek(long newPosition) {
    position = newPosition;
  }

  @Override
  public synchronized long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public synchronized int read() throws IOException {
    ByteBuffer one = ByteBuffer.allocate(1);
    return read(one) < 0 ? -1 : one.get(0) & 0xff;
  }

  @Override
  public synchronized int read(byte[] bytes, int start, int length) throws IOException {
    return read(ByteBuffer.wrap(bytes, start, length));
  }

  @Override
  public synchronized int read(ByteBuffer into) throws IOException {
    int count = file.read(position, into);
    position += Math.max(count, 0);
    return count;
  }

  @Override
  public synchronized int read(long from, byte[] bytes, int start, int length) throws IOException {
    return file.read(from, ByteBuffer.wrap(bytes, start, length));
  }

  @Override
  public synchronized void readFully(long from, byte[] bytes, int start, int length)
      throws IOException {
    file.readFully(from, ByteBuffer.wrap(bytes, start, length));
  }

  @Override
  public synchronized void readVectored(
      List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate) throws IOException {
    List<? extends FileRange> sorted =
        VectoredReadUtils.validateAndSortRanges(ranges, Optional.empty());
    List<Range> wanted = new ArrayList<>(sorted.size());
    sorted.forEach(range -> wanted.add(new Range(range.getOffset(), range.getLength())));
    List<ByteBuffer> buffers = file.read(wanted, allocate);
    for (int i = 0; i < buffers.size(); i++) {
      sorted.get(i).setData(CompletableFuture.completedFuture(buffers.get(i)));
    }
  }

  @Override
  public boolean hasCapability(String capability) {
    return StreamCapabilities.VECTOREDIO.equalsIgnoreCase(capability)
        || StreamCapabilities.READBYTEBUFFER.equalsIgnoreCase(capability);
  }

  @Override
  public synchronized void close() throws IOException {
    file.close();
  }
}
