package io.oap.cache.parquet;

import io.oap.cache.file.FileStream;
import io.oap.cache.stats.CacheCounters;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.io.SeekableInputStream;

/**
 * A file as Parquet's reader wants it, read around the cache. Counts what it reads. Not
 * thread-safe.
 */
class ParquetFileStream extends SeekableInputStream {
  final FileStream file;
  final CacheCounters counters;
  long position;

  ParquetFileStream(FileStream file, CacheCounters counters) {
    this.file = file;
    this.counters = counters;
  }

  /** Reads some bytes of the file, as {@link FileStream#read(long, ByteBuffer)}. */
  final int readFile(long at, ByteBuffer into) throws IOException {
    long start = System.nanoTime();
    int bytes = file.read(at, into);
    counters.read(Math.max(bytes, 0), System.nanoTime() - start);
    return bytes;
  }

  @Override
  public final long getPos() {
    return position;
  }

  @Override
  public final void seek(long newPosition) {
    position = newPosition;
  }

  @Override
  public final int read() throws IOException {
    ByteBuffer one = ByteBuffer.allocate(1);
    return read(one) < 0 ? -1 : one.get(0) & 0xff;
  }

  @Override
  public final int read(byte[] bytes, int start, int length) throws IOException {
    return read(ByteBuffer.wrap(bytes, start, length));
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int count = into.hasRemaining() ? readFile(position, into) : 0;
    position += Math.max(count, 0);
    return count;
  }

  @Override
  public final void readFully(byte[] bytes) throws IOException {
    readFully(ByteBuffer.wrap(bytes));
  }

  @Override
  public final void readFully(byte[] bytes, int start, int length) throws IOException {
    readFully(ByteBuffer.wrap(bytes, start, length));
  }

  @Override
  public void readFully(ByteBuffer into) throws IOException {
    while (into.hasRemaining()) {
      if (read(into) < 0) {
        throw new EOFException(
            "File ended at %d, %d bytes short of what was asked for"
                .formatted(position, into.remaining()));
      }
    }
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
