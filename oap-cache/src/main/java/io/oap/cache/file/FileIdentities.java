package io.oap.cache.file;

import io.oap.common.FileIdentity;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;

/** Turns what a Hadoop file system says of a file into its identity. */
public final class FileIdentities {
  private FileIdentities() {}

  public static FileIdentity of(FileStatus status) {
    String etag = status instanceof EtagSource source ? source.getEtag() : null;
    return new FileIdentity(
        status.getPath().toString(),
        status.getLen(),
        status.getModificationTime(),
        etag == null ? "" : etag);
  }
}
