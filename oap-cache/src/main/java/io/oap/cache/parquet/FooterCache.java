package io.oap.cache.parquet;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.common.FileId;
import java.io.IOException;

/**
 * Parsed footers, and the raw bytes of the small structures readers look at before they touch a
 * column chunk (page indexes, bloom filters, dictionary pages), on the Java heap, least recently
 * used out first. Thread-safe.
 */
public final class FooterCache {
  /** Average heap cost of a map entry and its key. */
  private static final int ENTRY_BYTES = 160;

  /**
   * @param offset position in the file, or -1 for the parsed footer
   */
  private record Key(FileId file, long offset) {}

  private final Cache<Key, Object> entries;

  /**
   * @param capacityBytes heap bytes to use at most, by estimate
   */
  public FooterCache(long capacityBytes) {
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
    long bytes = value instanceof CachedFooter footer ? footer.weight() : ((byte[]) value).length;
    return (int) Math.min(ENTRY_BYTES + bytes, Integer.MAX_VALUE);
  }

  /** Reads what is not held. */
  @FunctionalInterface
  interface Loader<T> {
    T load() throws IOException;
  }

  CachedFooter footer(FileId file, Loader<CachedFooter> loader) throws IOException {
    return (CachedFooter) get(new Key(file, -1), loader);
  }

  byte[] structure(FileId file, long offset, Loader<byte[]> loader) throws IOException {
    return (byte[]) get(new Key(file, offset), loader);
  }

  /** Forgets everything. */
  public void clear() {
    entries.invalidateAll();
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
