package io.oap.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * This machine's files, as tests have Spark know them. Hadoop without its native library starts a
 * process, chmod, for each file and each folder that it makes, which takes longer than to write a
 * small one.
 */
public final class FilesWithoutChmod extends LocalFileSystem {

  public FilesWithoutChmod() {
    super(new Raw());
  }

  /** The files themselves, without the checksums that the other one keeps beside them. */
  public static class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      String letters = new FsPermission((short) (permission.toShort() & 0777)).toString();
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(letters));
    }
  }
}
