package io.oap.cache.file;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.common.FileId;
import java.io.IOException;

/**
 * Keeps parsed footers on the Java heap, and the raw bytes of the small structures that readers
 * look at before they touch a column chunk (page indexes, bloom filters, dictionary pages). The
 * least recently used leave first. Thread-safe.
 */
public final class MetadataCache {
  /** Average heap cost of a map entry and its key. */
  private static final int ENTRY_BYTES = 160;

  /**
   * @param offset position in the file, or -1 for the parsed footer
   */
  private record Key(FileId file, long offset) {}

  private final long capacityBytes;
  private final Cache<Key, Object> entries;

  /**
   * @param capacityBytes heap bytes to use at most, by estimate
   */
  public MetadataCache(long capacityBytes) {
    this.capacityBytes = capacityBytes;
    entries =
        CacheBuilder.newBuilder()
            .maximumWeight(capacityBytes)
            .weigher((Key key, Object value) -> weight(value))
            // One segment: Guava divides the capacity among them, and a footer that is larger than
            // its segment's share would never stay. Hits take no lock either way.
            .concurrencyLevel(1)
            .build();
  }

  private static int weight(Object value) {
    long bytes = value instanceof Footer footer ? footer.heapBytes() : ((byte[]) value).length;
    return (int) Math.min(ENTRY_BYTES + bytes, Integer.MAX_VALUE);
  }

  /** A parsed footer of any format; immutable. */
  public interface Footer {
    /** Estimated heap size in bytes. */
    long heapBytes();
  }

  /** Reads what is not held. */
  @FunctionalInterface
  public interface Loader<T> {
    T load() throws IOException;
  }

  /** The footer of a file; all callers read it as the same type, that of the file's format. */
  @SuppressWarnings("unchecked")
  public <T extends Footer> T footer(FileId file, Loader<T> loader) throws IOException {
    return (T) get(new Key(file, -1), loader);
  }

  /** The bytes of a structure that starts at {@code offset} of the file; not to be changed. */
  public byte[] structure(FileId file, long offset, Loader<byte[]> loader) throws IOException {
    return (byte[]) get(new Key(file, offset), loader);
  }

  /** Forgets everything. */
  public void clear() {
    entries.invalidateAll();
  }

  /**
   * Heap bytes up to which a footer stays as long as several files are read in turn. A larger one
   * is held, too, as long as there is room.
   */
  public long mostBytesOfOne() {
    return capacityBytes / 4;
  }

  /** Footers and structures held now. */
  public long size() {
    return entries.size();
  }

  /**
   * Two readers that miss at the same time both load: a load may fail because its task was killed,
   * and no other task should hear of that.
   */
  private Object get(Key key, Loader<?> loader) throws IOException {
    Object held = entries.getIfPresent(key);
    if (held != null) {
      return held;
    }
    Object loaded = loader.load();
    entries.put(key, loaded);
    return loaded;
  }
}
