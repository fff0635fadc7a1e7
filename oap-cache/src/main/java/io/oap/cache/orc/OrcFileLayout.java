package io.oap.cache.orc;

import io.oap.cache.ChunkRequest;
import io.oap.cache.FileLayout;
import io.oap.cache.LayoutIndex;
import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.orc.OrcProto;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.StreamName;

/**
 * The layout of one ORC file. A chunk is the data streams of a column in a stripe, which writers
 * put one behind the other; a structure is the index streams of a column, or a stripe's footer.
 */
final class OrcFileLayout implements FileLayout {
  /** Rough heap size of a chunk with its key and its index entries. */
  private static final int HEAP_BYTES_PER_CHUNK = 300;

  private final FileId file;
  private final List<String> columns;
  private final long footerStart;
  private final LayoutIndex index = new LayoutIndex();
  private final List<Long> stripes = new ArrayList<>();
  private final Map<Range, byte[]> stripeFooters = new HashMap<>();

  OrcFileLayout(FileId file, TypeDescription schema, long footerStart) {
    this.file = file;
    this.columns = topLevelNames(schema);
    this.footerStart = footerStart;
  }

  /** For each column, by ORC's numbers, the top-level column it belongs to; none for the row. */
  private static List<String> topLevelNames(TypeDescription schema) {
    String[] names = new String[schema.getMaximumId() + 1];
    Arrays.fill(names, "");
    List<String> fields = schema.getFieldNames();
    List<TypeDescription> children = schema.getChildren();
    for (int i = 0; i < (fields == null ? 0 : fields.size()); i++) {
      TypeDescription child = children.get(i);
      Arrays.fill(names, child.getId(), child.getMaximumId() + 1, fields.get(i).intern());
    }
    return List.of(names);
  }

  /**
   * Adds a stripe.
   *
   * @param offset position of its first byte
   * @param at where its footer lies
   * @param bytes of the footer, as they are in the file
   */
  void add(long offset, Range at, byte[] bytes, OrcProto.StripeFooter footer) {
    stripeFooters.put(at, bytes);
    index.addStructure(at.offset(), at.length());
    Set<Integer> seen = new HashSet<>();
    List<OrcProto.Stream> streams = footer.getStreamsList();
    long start = offset;
    for (int i = 0; i < streams.size(); ) {
      OrcProto.Stream first = streams.get(i);
      long end = start;
      do {
        end += streams.get(i++).getLength();
      } while (i < streams.size() && belongTogether(first, streams.get(i)));
      addRun(first, start, end - start, seen);
      start = end;
    }
    stripes.add(offset);
  }

  private static boolean belongTogether(OrcProto.Stream a, OrcProto.Stream b) {
    return a.getColumn() == b.getColumn()
        && StreamName.getArea(a.getKind()) == StreamName.getArea(b.getKind());
  }

  private void addRun(OrcProto.Stream first, long offset, long length, Set<Integer> seen) {
    if (StreamName.getArea(first.getKind()) != StreamName.Area.DATA) {
      index.addStructure(offset, length);
      return;
    }
    // Streams of one column in two places would be two chunks of one key: the second is left out.
    boolean isForCache = length > 0 && length < Integer.MAX_VALUE;
    if (isForCache && first.getColumn() < columns.size() && seen.add(first.getColumn())) {
      ChunkKey key = ChunkKey.encoded(file, stripes.size(), first.getColumn());
      index.add(new ChunkRequest(key, offset, (int) length));
    }
  }

  @Override
  public LayoutIndex index() {
    return index;
  }

  @Override
  public byte[] structure(Range range) {
    return stripeFooters.get(range);
  }

  @Override
  public long footerStart() {
    return footerStart;
  }

  @Override
  public KnownFile describe(FileIdentity identity) {
    long[] starts = stripes.stream().mapToLong(Long::longValue).toArray();
    return new KnownFile(
        identity, columns, starts, index.chunkBytes(stripes.size(), columns.size()));
  }

  /**
   * Estimated heap size of a layout, in bytes.
   *
   * @param footers bytes of all stripe footers
   */
  static long heapBytes(long footers, long chunks, int columns) {
    return footers + HEAP_BYTES_PER_CHUNK * (chunks + columns);
  }

  @Override
  public long heapBytes() {
    long footers = stripeFooters.values().stream().mapToLong(bytes -> bytes.length).sum();
    return heapBytes(footers, index.chunks().size(), columns.size());
  }
}
