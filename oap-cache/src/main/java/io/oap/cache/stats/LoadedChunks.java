package io.oap.cache.stats;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.BitSet;
import java.util.function.Function;

/**
 * Which chunks this process has loaded before, to tell why one is loaded again. A bounded memory:
 * of the files loaded longest ago some are forgotten. Only loads come here, hits do not.
 * Thread-safe.
 */
public final class LoadedChunks {

  /** Bytes of heap, about. */
  private static final long MOST_BYTES = 8 << 20;

  /** What a file takes besides its bits. */
  private static final int BYTES_OF_FILE = 200;

  /** What was loaded of the file at one path. Guarded by itself. */
  private static final class Loaded {
    private final int bytes;
    private FileId version;

    /** How many that version has. */
    private int columns;

    /** Of that version, by row group and column. */
    private BitSet chunks = new BitSet();

    /** Columns of the versions before it. */
    private final BitSet earlierColumns = new BitSet();

    Loaded(FileId version, int columns, int bytes) {
      this.version = version;
      this.columns = columns;
      this.bytes = bytes;
    }

    synchronized MissCause load(ChunkKey key, int columnsNow) {
      if (!version.equals(key.file())) {
        chunks.stream().forEach(chunk -> earlierColumns.set(chunk % columns));
        chunks = new BitSet();
        version = key.file();
        columns = columnsNow;
      }
      int chunk = key.rowGroup() * columns + key.column();
      boolean wasLoaded = chunks.get(chunk);
      chunks.set(chunk);
      return wasLoaded
          ? MissCause.EVICTED
          : earlierColumns.get(key.column()) ? MissCause.CHANGED_FILE : MissCause.COLD;
    }

    synchronized boolean isOf(FileId file) {
      return version.equals(file);
    }
  }

  private final Function<FileId, KnownFile> files;
  private final Cache<String, Loaded> byPath;

  /**
   * @param files what a file id stands for, or null where that is not known; such files are not
   *     remembered
   */
  public LoadedChunks(Function<FileId, KnownFile> files) {
    this.files = files;
    byPath =
        CacheBuilder.newBuilder()
            .maximumWeight(MOST_BYTES)
            .weigher((String path, Loaded loaded) -> loaded.bytes)
            .build();
  }

  /** Remembers a load; returns why there had to be one. */
  public MissCause load(ChunkKey key) {
    KnownFile file = files.apply(key.file());
    if (file == null) {
      return MissCause.COLD;
    }
    String path = file.identity().path();
    int bytes = BYTES_OF_FILE + 2 * path.length() + file.chunkBytes().length / Byte.SIZE;
    Loaded fresh = new Loaded(key.file(), file.columns().size(), bytes);
    Loaded before = byPath.asMap().putIfAbsent(path, fresh);
    return (before == null ? fresh : before).load(key, file.columns().size());
  }

  /** Forgets a file that was dropped: what is loaded of it from now on is cold. */
  public void forget(FileId id) {
    KnownFile file = files.apply(id);
    if (file != null) {
      byPath
          .asMap()
          .computeIfPresent(
              file.identity().path(), (path, loaded) -> loaded.isOf(id) ? null : loaded);
    }
  }

  /** Forgets everything. */
  public void clear() {
    byPath.invalidateAll();
  }
}
