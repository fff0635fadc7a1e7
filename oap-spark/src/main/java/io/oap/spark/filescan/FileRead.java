package io.oap.spark.filescan;

import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.HadoopFileSource;
import io.oap.cache.layout.LayoutReader;
import io.oap.cache.stream.CachedFileStream;
import io.oap.cache.stream.CachedInputStream;
import java.io.IOException;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A file that a reader of Spark's is about to open on this thread. All file systems made meanwhile
 * from a configuration of {@link CachingFileSystem} serve this file, and no other, from the cache.
 * Thread-safe.
 */
final class FileRead {
  private static final ThreadLocal<FileRead> CURRENT = new ThreadLocal<>();

  private final Path path;
  private final Version version;
  private final LayoutReader layouts;
  private final ColumnCache cache;
  private final ReadContext context;
  private HadoopFileSource source;

  /** Tells which version of the file is read. */
  @FunctionalInterface
  interface Version {
    FileStatus of(FileSystem fs) throws IOException;
  }

  /** The file in the version that its file system tells now. */
  FileRead(Path path, LayoutReader layouts, ColumnCache cache, ReadContext context) {
    this(path, fs -> fs.getFileStatus(path), layouts, cache, context);
  }

  FileRead(
      Path path, Version version, LayoutReader layouts, ColumnCache cache, ReadContext context) {
    this.path = path;
    this.version = version;
    this.layouts = layouts;
    this.cache = cache;
    this.context = context;
  }

  /** Runs what opens the file. */
  <T> T whileOpening(Supplier<T> open) {
    FileRead before = CURRENT.get();
    CURRENT.set(this);
    try {
      return open.get();
    } finally {
      if (before == null) {
        CURRENT.remove();
      } else {
        CURRENT.set(before);
      }
    }
  }

  /** The file that is being opened on this thread, or null. */
  static FileRead current() {
    return CURRENT.get();
  }

  /** Whether a path is that of the file. */
  synchronized boolean isOf(Path other) {
    return path.equals(other) || source != null && source.status().getPath().equals(other);
  }

  /** The status of the version that is read; it is asked for once. */
  FileStatus status(FileSystem fs) throws IOException {
    return source(fs).status();
  }

  /** The file's bytes, in the version of its status. */
  FSDataInputStream open(FileSystem fs) throws IOException {
    return new FSDataInputStream(
        new CachedInputStream(new CachedFileStream(source(fs), layouts, cache, context)));
  }

  /**
   * The version of the file that is read here.
   *
   * @param caching a configuration of {@link CachingFileSystem}
   */
  HadoopFileSource source(Configuration caching) throws IOException {
    return source(path.getFileSystem(CachingFileSystem.plainOf(caching)));
  }

  /**
   * The version of the file that is read here.
   *
   * @param fs the file system that is meant
   */
  synchronized HadoopFileSource source(FileSystem fs) throws IOException {
    if (source == null) {
      source = new HadoopFileSource(version.of(fs), fs);
    }
    return source;
  }
}
