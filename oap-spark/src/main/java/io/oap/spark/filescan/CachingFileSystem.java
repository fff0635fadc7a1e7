package io.oap.spark.filescan;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.io.IOException;
import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.impl.OpenFileParameters;

/**
 * A file system that reads one file through the cache, the {@link FileRead} of the thread that it
 * was made on, and leaves all else to the file system that is meant.
 *
 * <p>Only the configuration of one scan names it. That file system itself comes from Hadoop's cache
 * by the configuration as it was, so users, credentials and connections are those of Spark alone.
 */
public final class CachingFileSystem extends FilterFileSystem {
  /** Before keys that a scan's configuration has otherwise: what they were. */
  private static final String MEANT = "oap.filescan.";

  private static final String SCHEMES = "oap.filescan.schemes";

  /** The configurations as they were, by those that scans have. */
  private static final Cache<Configuration, Configuration> PLAIN =
      CacheBuilder.newBuilder().weakKeys().build();

  private FileRead read;

  /** For Hadoop, which makes it by name. */
  public CachingFileSystem() {}

  private static List<String> keys(String scheme) {
    return List.of("fs." + scheme + ".impl", "fs." + scheme + ".impl.disable.cache");
  }

  /** Makes a copy of a configuration by which files of these schemes are read through the cache. */
  static Configuration caching(Configuration plain, Collection<String> schemes) {
    Configuration conf = new Configuration(plain);
    for (String scheme : schemes) {
      for (String key : keys(scheme)) {
        String meant = conf.getRaw(key);
        if (meant != null) {
          conf.set(MEANT + key, meant);
        }
      }
      conf.set(keys(scheme).get(0), CachingFileSystem.class.getName());
      conf.set(keys(scheme).get(1), "true");
    }
    conf.set(SCHEMES, String.join(",", schemes));
    return conf;
  }

  /** Makes a copy of such a configuration as it was. */
  static Configuration plain(Configuration caching) {
    Configuration conf = new Configuration(caching);
    for (String scheme : conf.getTrimmedStringCollection(SCHEMES)) {
      for (String key : keys(scheme)) {
        String meant = conf.getRaw(MEANT + key);
        if (meant == null) {
          conf.unset(key);
        } else {
          conf.set(key, meant);
        }
      }
    }
    return conf;
  }

  /** The copy that is kept of such a configuration as it was. */
  static Configuration plainOf(Configuration caching) {
    Configuration plain = PLAIN.getIfPresent(caching);
    if (plain == null) {
      plain = plain(caching);
      PLAIN.put(caching, plain);
    }
    return plain;
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    fs = FileSystem.get(name, plainOf(conf));
    read = FileRead.current();
    super.initialize(name, conf);
  }

  private boolean isCached(Path path) {
    return read != null && read.isOf(path);
  }

  @Override
  public String getScheme() {
    return fs.getScheme();
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return isCached(path) ? read.status(fs) : super.getFileStatus(path);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return isCached(path) ? read.open(fs) : super.open(path, bufferSize);
  }

  @Override
  public FutureDataInputStreamBuilder openFile(Path path) throws IOException {
    return isCached(path) ? createDataInputStreamBuilder(this, path) : super.openFile(path);
  }

  @Override
  protected CompletableFuture<FSDataInputStream> openFileWithOptions(
      Path path, OpenFileParameters parameters) throws IOException {
    return isCached(path)
        ? CompletableFuture.completedFuture(read.open(fs))
        : super.openFileWithOptions(path, parameters);
  }

  /** Does nothing: the file system that is meant belongs to Hadoop's cache. */
  @Override
  public void close() {}
}
