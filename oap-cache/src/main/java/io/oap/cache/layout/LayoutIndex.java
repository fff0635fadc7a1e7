package io.oap.cache.layout;

import io.oap.cache.file.FileRanges.Range;
import java.util.Collection;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The chunks and small structures of a file by position. A structure is a dictionary page, bloom
 * filter, index or the like; it may be a part of a chunk, and is kept whole on the Java heap.
 * Thread-safe once nothing is added any more.
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

  /** The chunk in which a byte of the file lies, or null. */
  public ChunkRequest chunkAt(long offset) {
    Map.Entry<Long, ChunkRequest> before = chunks.floorEntry(offset);
    return before != null && offset < before.getValue().end() ? before.getValue() : null;
  }

  /** The structure in which a byte of the file lies, or null. */
  public Range structureAt(long offset) {
    Map.Entry<Long, Range> before = structures.floorEntry(offset);
    return before != null && before.getValue().contains(offset) ? before.getValue() : null;
  }

  /**
   * Position of the first byte behind {@code offset} with which a chunk or structure begins; {@link
   * Long#MAX_VALUE} where there is none.
   */
  public long nextKnown(long offset) {
    Long chunk = chunks.higherKey(offset);
    Long structure = structures.higherKey(offset);
    return Math.min(
        chunk == null ? Long.MAX_VALUE : chunk, structure == null ? Long.MAX_VALUE : structure);
  }

  /**
   * Lengths of the chunks, by row group * columns + column; 0 where there is none.
   *
   * @throws ArithmeticException when there are too many for one array
   */
  public int[] chunkBytes(int rowGroups, int columns) {
    int[] bytes = new int[Math.multiplyExact(rowGroups, columns)];
    for (ChunkRequest chunk : chunks.values()) {
      bytes[chunk.key().rowGroup() * columns + chunk.key().column()] = chunk.length();
    }
    return bytes;
  }
}
