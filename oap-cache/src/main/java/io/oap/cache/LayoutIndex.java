package io.oap.cache;

import io.oap.cache.file.FileRanges.Range;
import java.util.Collection;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The chunks and small structures of a file by position, for those who implement {@link
 * FileLayout}. Thread-safe once nothing is added any more.
 */
public final class LayoutIndex {
  private final NavigableMap<Long, ChunkRequest> chunks = new TreeMap<>();
  private final NavigableMap<Long, Range> structures = new TreeMap<>();
  private long end;

  /** Adds a chunk. Chunks do not overlap. */
  public void add(ChunkRequest chunk) {
    chunks.put(chunk.offset(), chunk);
    end = Math.max(end, chunk.end());
  }

  /** Adds a structure; one without bytes, or with too many for one buffer, is left out. */
  public void addStructure(long offset, long length) {
    if (length > 0 && length < Integer.MAX_VALUE) {
      structures.put(offset, new Range(offset, (int) length));
      end = Math.max(end, offset + length);
    }
  }

  /** All chunks, in the order of the file. */
  public Collection<ChunkRequest> chunks() {
    return chunks.values();
  }

  /** Position behind the last chunk and structure. */
  public long end() {
    return end;
  }

  /** As {@link FileLayout#chunkAt}. */
  public ChunkRequest chunkAt(long offset) {
    Map.Entry<Long, ChunkRequest> before = chunks.floorEntry(offset);
    return before != null && offset < before.getValue().end() ? before.getValue() : null;
  }

  /** As {@link FileLayout#structureAt}. */
  public Range structureAt(long offset) {
    Map.Entry<Long, Range> before = structures.floorEntry(offset);
    return before != null && before.getValue().contains(offset) ? before.getValue() : null;
  }

  /**
   * As {@link FileLayout#nextKnown}.
   *
   * @param footerStart where the footer of the file begins
   */
  public long nextKnown(long offset, long footerStart) {
    Long chunk = chunks.higherKey(offset);
    Long structure = structures.higherKey(offset);
    long next = offset < footerStart ? footerStart : Long.MAX_VALUE;
    next = chunk == null ? next : Math.min(next, chunk);
    return structure == null ? next : Math.min(next, structure);
  }
}
