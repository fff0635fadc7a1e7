package io.oap.cache.file;

import io.oap.cache.file.KnownFiles.KnownFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What another process writes with {@link FileNames}, read as it comes. A record that is not whole
 * yet is read the next time, if it is then. For one thread at a time.
 */
final class WrittenNames {
  private static final Logger LOG = LoggerFactory.getLogger(WrittenNames.class);

  private final Path path;

  /** Which file was read, as the system tells, and how far. */
  private Object lastFile;

  private long end;
  private boolean hasFailed;

  WrittenNames(Path path) {
    this.path = path;
  }

  /** What has been written since the last call; all of it where the file is another one. */
  List<KnownFile> next() {
    try {
      BasicFileAttributes found =
          Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      boolean isOther = !found.fileKey().equals(lastFile) || found.size() < end;
      if (!found.isRegularFile() || !isOther && found.size() == end) {
        return List.of();
      }
      lastFile = found.fileKey();
      end = isOther ? 0 : end;
      return decode(readFrom(end));
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException | RuntimeException e) {
      if (!hasFailed) {
        hasFailed = true;
        LOG.warn("The names of files of another process are not read: {}", e.toString());
      }
      return List.of();
    }
  }

  private ByteBuffer readFrom(long position) throws IOException {
    try (SeekableByteChannel file =
        Files.newByteChannel(path, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
      ByteBuffer rest = ByteBuffer.allocate(Math.toIntExact(Math.max(0, file.size() - position)));
      file.position(position);
      while (rest.hasRemaining() && file.read(rest) > 0) {}
      return rest.flip();
    }
  }

  private List<KnownFile> decode(ByteBuffer all) throws IOException {
    List<KnownFile> files = new ArrayList<>();
    if (end == 0) {
      if (all.remaining() < Long.BYTES || all.getLong() != FileNames.MAGIC) {
        return files;
      }
      end = Long.BYTES;
    }
    while (all.remaining() >= FileNames.HEAD) {
      int length = all.getInt();
      int sum = all.getInt();
      if (length <= 0 || length > all.remaining() || sum != sumOf(all, length)) {
        return files;
      }
      files.add(FileRecord.decode(all.slice(all.position(), length)));
      all.position(all.position() + length);
      end += FileNames.HEAD + length;
    }
    return files;
  }

  private static int sumOf(ByteBuffer bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.slice(bytes.position(), length));
    return (int) crc.getValue();
  }
}
