package io.oap.cache.file;

import io.oap.cache.file.KnownFiles.KnownFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The files that other processes know which share the pool: each writes them down, and the others
 * read what is new when they look into the pool. Thread-safe.
 */
public final class NamesOfOthers {
  private final List<WrittenNames> written;

  /**
   * @param paths where each of the others writes, now or later
   */
  public NamesOfOthers(List<Path> paths) {
    written = paths.stream().map(WrittenNames::new).toList();
  }

  /** What has been written since the last call. */
  public synchronized List<KnownFile> next() {
    List<KnownFile> files = new ArrayList<>();
    written.forEach(one -> files.addAll(one.next()));
    return files;
  }
}
