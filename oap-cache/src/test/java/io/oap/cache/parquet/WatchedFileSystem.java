package io.oap.cache.parquet;

import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Local files under the scheme {@code watched}. Counts what is opened, closed and read, and lets a
 * test step in: before a file is opened, before bytes are read, and with the version tag of files.
 */
public final class WatchedFileSystem extends RawLocalFileSystem {

  /** Runs when a test wants to step in. */
  @FunctionalInterface
  interface Step {
    void run() throws IOException;
  }

  /** A status as an object store gives it. */
  private static final class TaggedStatus extends FileStatus implements EtagSource {
    private static final long serialVersionUID = 1;
    private final String etag;

    TaggedStatus(FileStatus status, String etag) {
      super(
          status.getLen(),
          status.isDirectory(),
          status.getReplication(),
          status.getBlockSize(),
          status.getModificationTime(),
          status.getPath());
      this.etag = etag;
    }

    @Override
    public String getEtag() {
      return etag;
    }
  }

  final AtomicLong opened = new AtomicLong();
  final AtomicLong closed = new AtomicLong();
  final AtomicLong bytesRead = new AtomicLong();
  final AtomicLong statuses = new AtomicLong();
  volatile Step beforeOpen = () -> {};
  volatile Step beforeRead = () -> {};

  /** Version tag of all files, or null for a store that has none. */
  volatile String etag;

  /** The file system of this configuration, as it was on the first day. */
  static WatchedFileSystem of(Configuration conf) throws IOException {
    conf.setClass("fs.watched.impl", WatchedFileSystem.class, RawLocalFileSystem.class);
    WatchedFileSystem fs = (WatchedFileSystem) new Path("watched:///").getFileSystem(conf);
    fs.beforeOpen = () -> {};
    fs.beforeRead = () -> {};
    fs.etag = null;
    fs.resetCounts();
    return fs;
  }

  void resetCounts() {
    opened.set(0);
    closed.set(0);
    bytesRead.set(0);
    statuses.set(0);
  }

  @Override
  public String getScheme() {
    return "watched";
  }

  @Override
  public URI getUri() {
    return URI.create("watched:///");
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    statuses.incrementAndGet();
    FileStatus status = super.getFileStatus(path);
    return etag == null ? status : new TaggedStatus(status, etag);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    beforeOpen.run();
    long before = statuses.get();
    FSDataInputStream in = super.open(path, bufferSize);
    statuses.set(before); // opening a local file asks for its status, which no store charges for
    opened.incrementAndGet();
    return new FSDataInputStream(new WatchedStream(in));
  }

  private final class WatchedStream extends FSInputStream {
    private final FSDataInputStream in;
    private boolean isClosed;

    WatchedStream(FSDataInputStream in) {
      this.in = in;
    }

    private int counted(int bytes) {
      bytesRead.addAndGet(Math.max(0, bytes));
      return bytes;
    }

    @Override
    public int read() throws IOException {
      beforeRead.run();
      int value = in.read();
      counted(value < 0 ? 0 : 1);
      return value;
    }

    @Override
    public int read(byte[] bytes, int start, int length) throws IOException {
      beforeRead.run();
      return counted(in.read(bytes, start, length));
    }

    @Override
    public int read(long at, byte[] bytes, int start, int length) throws IOException {
      beforeRead.run();
      return counted(in.read(at, bytes, start, length));
    }

    @Override
    public void seek(long to) throws IOException {
      if (to < 0) {
        throw new EOFException("seek before the start: " + to);
      }
      in.seek(to);
    }

    @Override
    public long getPos() throws IOException {
      return in.getPos();
    }

    @Override
    public boolean seekToNewSource(long target) {
      return false;
    }

    @Override
    public void close() throws IOException {
      if (!isClosed) {
        isClosed = true;
        closed.incrementAndGet();
      }
      in.close();
    }
  }
}
