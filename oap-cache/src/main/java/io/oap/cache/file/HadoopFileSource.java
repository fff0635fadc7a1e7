package io.oap.cache.file;

import io.oap.common.FileIdentity;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.FutureIO;

/** A file of a Hadoop file system, in the version that its status tells of. */
public final class HadoopFileSource implements FileSource {
  private static final long READ_TIMEOUT_SECONDS = 300;

  /** How a store is to read ahead: the first of these that it knows. */
  private static final String READ_POLICY = "columnar, vector, random, adaptive";

  private final FileSystem fs;
  private final FileStatus status;
  private final FileIdentity identity;

  /**
   * Asks the file system for the file's status.
   *
   * @throws FileNotFoundException when there is no such file
   */
  public HadoopFileSource(Path path, Configuration conf) throws IOException {
    this(path, path.getFileSystem(conf));
  }

  /**
   * Asks this file system for the file's status.
   *
   * @throws FileNotFoundException when there is no such file
   */
  public HadoopFileSource(Path path, FileSystem fs) throws IOException {
    this(fs.getFileStatus(path), fs);
  }

  /** Takes the file in the version of a status that the file system has told. */
  public HadoopFileSource(FileStatus status, FileSystem fs) {
    this.fs = fs;
    this.status = status;
    identity = identityOf(status);
  }

  /** Turns what a Hadoop file system says of a file into its identity. */
  private static FileIdentity identityOf(FileStatus status) {
    String etag = status instanceof EtagSource source ? source.getEtag() : null;
    return new FileIdentity(
        status.getPath().toString(),
        status.getLen(),
        status.getModificationTime(),
        etag == null ? "" : etag);
  }

  /** What the file system said of the file. */
  public FileStatus status() {
    return status;
  }

  @Override
  public FileIdentity identity() {
    return identity;
  }

  @Override
  public boolean isAskedAfterRanges() {
    return identity.etag().isEmpty();
  }

  @Override
  public FileStream open() {
    return new Stream();
  }

  /**
   * Reads ranges of a file of a Hadoop file system, in whatever order or parallelism suits it.
   *
   * @param path what errors call the file
   */
  public static List<ByteBuffer> readVectored(
      FSDataInputStream file, List<FileRanges.Range> ranges, String path) throws IOException {
    List<FileRange> requests = new ArrayList<>(ranges.size());
    ranges.forEach(
        range -> requests.add(FileRange.createFileRange(range.offset(), range.length())));
    file.readVectored(requests, ByteBuffer::allocate);
    List<ByteBuffer> buffers = new ArrayList<>(ranges.size());
    for (FileRange request : requests) {
      buffers.add(await(request, path));
    }
    return buffers;
  }

  private static ByteBuffer await(FileRange request, String path) throws IOException {
    ByteBuffer buffer;
    try {
      buffer = FutureIO.awaitFuture(request.getData(), READ_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IOException(
          "No answer within %d s to a read of %s from %s"
              .formatted(READ_TIMEOUT_SECONDS, request, path),
          e);
    }
    if (buffer.remaining() != request.getLength()) {
      throw new EOFException(
          "Got %d bytes for %s of %s".formatted(buffer.remaining(), request, path));
    }
    return buffer;
  }

  private void requireSameVersion() throws IOException {
    if (!identityOf(fs.getFileStatus(status.getPath())).equals(identity)) {
      throw new FileReplacedException(identity.path());
    }
  }

  /**
   * Says which version of the file an error was about. A store with version tags refuses to read
   * another version than the one that was opened, each in its own words; elsewhere it is asked for.
   */
  private IOException explained(IOException error) {
    if (!identity.etag().isEmpty()) {
      try {
        requireSameVersion();
      } catch (FileReplacedException replaced) {
        replaced.addSuppressed(error);
        return replaced;
      } catch (IOException e) {
        error.addSuppressed(e);
      }
    }
    return error;
  }

  private final class Stream implements FileStream {
    private FSDataInputStream in;

    private FSDataInputStream opened() throws IOException {
      if (in == null) {
        FSDataInputStream stream =
            FutureIO.awaitFuture(
                fs.openFile(status.getPath())
                    .withFileStatus(status)
                    .opt("fs.option.openfile.read.policy", READ_POLICY)
                    .build());
        try {
          // A store with version tags refuses by itself to open another version than the one whose
          // status it was given; elsewhere the file may have been replaced since.
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

    /**
     * A store may put other bytes behind a stream that is open. Where the file is gone, the bytes
     * that were read are still of the version that was opened.
     */
    private void requireUnchanged() throws IOException {
      if (isAskedAfterRanges()) {
        try {
          requireSameVersion();
        } catch (FileNotFoundException e) {
          // Deleted meanwhile.
        }
      }
    }

    @Override
    public List<ByteBuffer> read(List<Range> ranges) throws IOException {
      List<ByteBuffer> buffers;
      try {
        buffers = readVectored(opened(), ranges, identity.path());
      } catch (IOException e) {
        throw explained(e);
      }
      requireUnchanged();
      return buffers;
    }

    @Override
    public int read(long position, ByteBuffer into) throws IOException {
      try {
        FSDataInputStream file = opened();
        if (file.getPos() != position) {
          file.seek(position);
        }
        return FileStream.read(file, into);
      } catch (IOException e) {
        throw explained(e);
      }
    }

    @Override
    public void close() throws IOException {
      if (in != null) {
        in.close();
        in = null;
      }
    }
  }
}
