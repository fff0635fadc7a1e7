package io.oap.cache.file;

import io.oap.cache.file.KnownFiles.KnownFile;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collection;
import java.util.List;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The known files of a pool that outlives its process, in a file beside it: a record each, appended
 * when the file becomes known. A record that is torn ends the list; what comes behind it is
 * forgotten, and becomes known again when it is opened. Faults are logged once, and then nothing
 * more is written. Thread-safe.
 */
public final class FileNames {
  private static final Logger LOG = LoggerFactory.getLogger(FileNames.class);
  static final long MAGIC = 0x4f4150204e414d31L;
  static final int HEAD = 2 * Integer.BYTES;

  private final Path path;
  private OutputStream out;
  private boolean isGivenUp;

  /**
   * @param path where the records lie; whoever has the pool has this file, too
   */
  public FileNames(Path path) {
    this.path = path;
  }

  /** Reads what is there; nothing where it cannot be read. */
  public synchronized List<KnownFile> read() {
    return new WrittenNames(path).next();
  }

  /** Replaces all records. */
  public synchronized void write(Collection<KnownFile> files) {
    if (isGivenUp) {
      return;
    }
    Path next = path.resolveSibling(path.getFileName() + ".next");
    try {
      close();
      Files.deleteIfExists(next);
      Files.createFile(
          next, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      // A channel would be closed for good where the task that writes is interrupted.
      out = new FileOutputStream(next.toFile());
      out.write(ByteBuffer.allocate(Long.BYTES).putLong(0, MAGIC).array());
      for (KnownFile file : files) {
        out.write(encode(file));
      }
      Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | RuntimeException e) {
      giveUp(e);
    }
  }

  /** Adds a record. */
  public synchronized void append(KnownFile file) {
    if (isGivenUp || out == null) {
      return;
    }
    try {
      out.write(encode(file));
    } catch (IOException | RuntimeException e) {
      giveUp(e);
    }
  }

  /** Lets go of the file, which stays. */
  public synchronized void close() {
    if (out != null) {
      try {
        out.close();
      } catch (IOException e) {
        LOG.debug("The names of files", e);
      }
      out = null;
    }
  }

  private void giveUp(Exception e) {
    isGivenUp = true;
    close();
    LOG.warn(
        "Names of files are no longer written to {}; the next process will not know the files that"
            + " come now until they are opened: {}",
        path,
        e.toString());
  }

  private static byte[] encode(KnownFile file) throws IOException {
    byte[] record = FileRecord.encode(file);
    CRC32C crc = new CRC32C();
    crc.update(record);
    return ByteBuffer.allocate(HEAD + record.length)
        .putInt(record.length)
        .putInt((int) crc.getValue())
        .put(record)
        .array();
  }
}
