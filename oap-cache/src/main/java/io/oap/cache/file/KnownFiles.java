package io.oap.cache.file;

import com.google.common.collect.Interner;
import com.google.common.collect.Interners;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the keys of the pool stand for: the files whose chunks it may hold, with their layout.
 *
 * <p>Files enter when they are opened. Now and then those of which the pool holds nothing leave, so
 * that there are about as many as the pool has need of. One that leaves between its opening and its
 * first chunk is unknown until it is opened again; who asks has to live with that. Those of a pool
 * that outlives its process are written down ({@link FileNames}). Thread-safe.
 */
public final class KnownFiles {
  private static final Logger LOG = LoggerFactory.getLogger(KnownFiles.class);

  /** So many files, of so many bytes of heap, are few. */
  private static final int FEW = 1 << 12;

  private static final long FEW_BYTES = 16 << 20;

  /** Rough heap size of a file besides its path and its row groups. */
  private static final int BYTES_OF_FILE = 300;

  /**
   * A file.
   *
   * @param identity which version of which file
   * @param columns for each leaf column, in the order of the file's schema, the name of the
   *     top-level column it belongs to; shared between files that have the same
   * @param starts first byte of each row group
   * @param chunkBytes encoded length of each column chunk, by row group * columns.size() + column;
   *     0 where the row group has none or it is not for the cache
   * @param reads what readers have asked for since it is known
   */
  public record KnownFile(
      FileIdentity identity,
      List<String> columns,
      long[] starts,
      int[] chunkBytes,
      FileReads reads) {

    public KnownFile(FileIdentity identity, List<String> columns, long[] starts, int[] chunkBytes) {
      this(identity, columns, starts, chunkBytes, new FileReads());
    }

    private long heapBytes() {
      return BYTES_OF_FILE
          + (long) Character.BYTES * identity.path().length()
          + (long) Long.BYTES * starts.length
          + (long) Integer.BYTES * chunkBytes.length;
    }
  }

  private final ConcurrentMap<FileId, KnownFile> files = new ConcurrentHashMap<>();
  private final Interner<List<String>> schemas = Interners.newWeakInterner();
  private final Supplier<Set<FileId>> held;
  private final int few;
  private final long fewBytes;
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicBoolean hasFailed = new AtomicBoolean();
  private volatile FileNames names;
  private volatile int most;
  private volatile long mostBytes;

  /**
   * @param held files of which the pool holds chunks
   */
  public KnownFiles(Supplier<Set<FileId>> held) {
    this(held, FEW, FEW_BYTES);
  }

  KnownFiles(Supplier<Set<FileId>> held, int few, long fewBytes) {
    this.held = held;
    this.few = few;
    this.fewBytes = fewBytes;
    this.most = few;
    this.mostBytes = fewBytes;
  }

  /**
   * Knows the files again that a former process knew and of which the pool holds chunks, and writes
   * down for the next one what becomes known from here on.
   */
  public void keep(FileNames kept) {
    Optional<Set<FileId>> ids = heldIfTold();
    for (KnownFile file : kept.read()) {
      FileId id = file.identity().id();
      if (ids.isEmpty() || ids.get().contains(id)) {
        add(id, () -> file);
      }
    }
    kept.write(files.values());
    names = kept;
  }

  /** Enters files that other processes know of which the pool holds chunks. */
  public void learn(Collection<KnownFile> known) {
    known.forEach(file -> add(file.identity().id(), () -> file));
  }

  /** The file of this id, or null. */
  public KnownFile get(FileId id) {
    return files.get(id);
  }

  /**
   * Records what a reader has asked for of a file, if it is known.
   *
   * @param found how many of the column chunks were in the pool
   * @param asked all of them
   */
  public void recordRead(FileId id, long found, long asked) {
    KnownFile file = get(id);
    if (file != null) {
      file.reads().add(found, asked);
    }
  }

  /**
   * The files in a folder, at any depth, or the one file of this name.
   *
   * @param path fully qualified, with scheme and authority
   */
  public Map<FileId, KnownFile> under(String path) {
    return under(List.of(path));
  }

  /**
   * The files in some folders, at any depth, or of these names. It looks at each known file once.
   *
   * @param paths fully qualified, with scheme and authority
   */
  public Map<FileId, KnownFile> under(Collection<String> paths) {
    TreeSet<String> all = new TreeSet<>();
    paths.forEach(path -> all.add(asFolder(path)));
    // Without those that lie in others, the last one before a file is the only one it can lie in.
    TreeSet<String> folders = new TreeSet<>();
    for (String folder : all) {
      if (folders.isEmpty() || !folder.startsWith(folders.last())) {
        folders.add(folder);
      }
    }
    return where(
        file -> {
          String path = asFolder(file.identity().path());
          String folder = folders.floor(path);
          return folder != null && path.startsWith(folder);
        });
  }

  private static String asFolder(String path) {
    return path.endsWith("/") ? path : path + "/";
  }

  /** The files for which this is true. */
  public Map<FileId, KnownFile> where(Predicate<KnownFile> isWanted) {
    Map<FileId, KnownFile> found = new HashMap<>();
    files.forEach(
        (id, file) -> {
          if (isWanted.test(file)) {
            found.put(id, file);
          }
        });
    return found;
  }

  /** Whether a chunk is of a known file, and of a top-level column for whose name this is true. */
  public Predicate<ChunkKey> inColumns(Predicate<String> column) {
    return key -> {
      KnownFile file = files.get(key.file());
      return file != null && column.test(file.columns().get(key.column()));
    };
  }

  /**
   * Enters a file, unless it is known.
   *
   * @param describe makes the entry; called only when the file is not known
   */
  public void add(FileId id, Supplier<KnownFile> describe) {
    if (files.containsKey(id)) {
      return;
    }
    KnownFile file = withSharedColumns(describe.get());
    if (files.putIfAbsent(id, file) == null) {
      bytes.addAndGet(file.heapBytes());
      FileNames kept = names;
      if (kept != null) {
        kept.append(file);
      }
      if (areMany()) {
        forgetUnheld(id);
      }
    }
  }

  private boolean areMany() {
    return files.size() > most || bytes.get() > mostBytes;
  }

  /** Which costs a list of all chunks: only when there are twice as many as were left last time. */
  private synchronized void forgetUnheld(FileId added) {
    if (areMany()) {
      heldIfTold().ifPresent(ids -> forgetOthers(ids, added));
      most = Math.max(few, 2 * files.size());
      mostBytes = Math.max(fewBytes, 2 * bytes.get());
    }
  }

  private void forgetOthers(Set<FileId> ids, FileId added) {
    files.forEach(
        (id, file) -> {
          if (!ids.contains(id) && !id.equals(added) && files.remove(id, file)) {
            bytes.addAndGet(-file.heapBytes());
          }
        });
    if (names != null) {
      names.write(files.values());
    }
  }

  /**
   * The files of which the pool holds chunks. Empty where it cannot be told, as of more chunks than
   * a list has room for: that costs heap until the next time, and no query.
   */
  private Optional<Set<FileId>> heldIfTold() {
    try {
      return Optional.of(held.get());
    } catch (RuntimeException | OutOfMemoryError e) {
      if (hasFailed.compareAndSet(false, true)) {
        LOG.warn("Files of which the pool holds nothing stay known for now: {}", e.toString());
      }
      return Optional.empty();
    }
  }

  private KnownFile withSharedColumns(KnownFile file) {
    List<String> columns = schemas.intern(file.columns());
    return new KnownFile(file.identity(), columns, file.starts(), file.chunkBytes(), file.reads());
  }
}
