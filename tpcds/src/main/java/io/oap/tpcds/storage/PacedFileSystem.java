package io.oap.tpcds.storage;

import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.util.LambdaUtils;

/**
 * Local files, read at the speed of a {@link StorageClass}, which is the URI scheme, and counted.
 * Reading is paced, writing is not. Every reader of the JVM passes the same bucket, whoever it is:
 * that is what makes a comparison on slow storage fair.
 *
 * <p>Tables that keep the URLs of their files have one more scheme, {@link #SCHEME}, whose storage
 * class the configuration says.
 */
public final class PacedFileSystem extends FilterFileSystem {

  /** Configuration key: task slots of this JVM, over which the bandwidth per core is summed. */
  public static final String CORES_KEY = "oap.tpcds.storage.cores";

  /** The scheme of files that are read as {@link #STORAGE_KEY} says. */
  public static final String SCHEME = "paced";

  /** Configuration key: scheme of the storage class of {@link #SCHEME}. */
  public static final String STORAGE_KEY = "oap.tpcds.storage.class";

  private final LocalFiles local;
  private Pace pace;

  public PacedFileSystem() {
    super(new LocalFiles());
    local = (LocalFiles) fs;
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    int cores = conf.getInt(CORES_KEY, Runtime.getRuntime().availableProcessors());
    String storage = name.getScheme().equals(SCHEME) ? conf.get(STORAGE_KEY) : name.getScheme();
    pace = Pace.ofThisJvm(StorageClass.ofScheme(storage), cores);
    local.root = URI.create(name.getScheme() + ":///");
    local.pace = pace;
    local.setWorkingDirectory(new Path(local.root));
    super.initialize(name, conf);
    local.counted = statistics;
  }

  @Override
  public String getScheme() {
    return getUri().getScheme();
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    pace.request(1);
    FileStatus status = super.getFileStatus(path);
    boolean isTagged = pace.storage().tagsVersions() && status.isFile();
    return isTagged ? new TaggedStatus(status) : status;
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    pace.request(1);
    return super.listStatus(path);
  }

  @Override
  public RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path) throws IOException {
    pace.request(1);
    return super.listLocatedStatus(path);
  }

  @Override
  public RemoteIterator<FileStatus> listStatusIterator(Path path) throws IOException {
    pace.request(1);
    return super.listStatusIterator(path);
  }

  /** The status of a file that a store keeps in versions. */
  private static final class TaggedStatus extends FileStatus implements EtagSource {
    /** Without owner and rights, for which a process would be started. */
    private TaggedStatus(FileStatus file) {
      super(
          file.getLen(),
          false,
          file.getReplication(),
          file.getBlockSize(),
          file.getModificationTime(),
          file.getPath());
    }

    @Override
    public String getEtag() {
      return Long.toHexString(getModificationTime()) + "-" + Long.toHexString(getLen());
    }
  }

  /**
   * The local file system under another scheme, so that the paths it returns lead back to us. Files
   * are opened here, so that no way of opening one goes past the bucket.
   */
  private static final class LocalFiles extends RawLocalFileSystem {
    private URI root;
    private Pace pace;
    private Statistics counted;

    @Override
    public URI getUri() {
      // The superclass's constructor asks before there is one.
      return root == null ? super.getUri() : root;
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
      pace.request(1);
      return opened(path);
    }

    private FSDataInputStream opened(Path path) throws IOException {
      return new FSDataInputStream(new PacedInputStream(pathToFile(path), pace, counted));
    }

    @Override
    protected CompletableFuture<FSDataInputStream> openFileWithOptions(
        Path path, OpenFileParameters parameters) throws IOException {
      if (!(parameters.getStatus() instanceof TaggedStatus known)) {
        return super.openFileWithOptions(path, parameters);
      }
      return LambdaUtils.eval(new CompletableFuture<>(), () -> openVersion(path, known));
    }

    /** Asks nothing before the first read, as S3A does. */
    private FSDataInputStream openVersion(Path path, TaggedStatus known) throws IOException {
      if (!new TaggedStatus(super.getFileStatus(path)).getEtag().equals(known.getEtag())) {
        throw new IOException(path + " has been overwritten since its status was asked for");
      }
      return opened(path);
    }

    @Override
    public FSDataInputStream open(PathHandle handle, int bufferSize) {
      throw new UnsupportedOperationException("open by handle");
    }
  }
}
