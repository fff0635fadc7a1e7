package io.oap.tpcds

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * Files of this machine, as `core-site.xml` of the tests has them. Hadoop without its native
 * library starts a process, chmod, for each file and each folder that it makes: three for each
 * partition of a table, which take longer than to write it.
 */
class FilesWithoutChmod extends LocalFileSystem(new FilesWithoutChmod.Raw)

object FilesWithoutChmod {
  private class Raw extends RawLocalFileSystem {
    override def setPermission(path: Path, permission: FsPermission): Unit = {
      val letters = new FsPermission((permission.toShort & 0x1ff).toShort).toString
      Files.setPosixFilePermissions(
        pathToFile(path).toPath,
        PosixFilePermissions.fromString(letters))
    }
  }
}
