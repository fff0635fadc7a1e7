package io.oap.cache.orc;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.FileLayout;
import io.oap.cache.layout.LayoutIndex;
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
public final class OrcFileLayout implements FileLayout {
  /** Rough heap size of a chunk with its key and its index entries, or of a column. */
  private static final int HEAP_BYTES_PER_CHUNK = 350;

  private final FileId file;
  private final TypeDescription schema;
  private final List<String> columns;
  private final long footerStart;
  private final LayoutIndex index = new LayoutIndex();
  private final List<Stripe> stripes = new ArrayList<>();
  private final Map<ChunkKey, ChunkRequest> chunks = new HashMap<>();
  private final Map<Range, byte[]> stripeFooters = new HashMap<>();

  OrcFileLayout(FileId file, TypeDescription schema, long footerStart) {
    this.file = file;
    this.schema = schema;
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
   * A stripe of the file.
   *
   * @param ordinal its place in the file, from 0
   * @param offset position of its first byte
   * @param length of its indexes, data and footer, in bytes
   * @param firstRow position of its first row in the file, from 0
   */
  public record Stripe(int ordinal, long offset, long length, long firstRow, long rows) {}

  /** The stripes, in the order of the file. */
  public List<Stripe> stripes() {
    return stripes;
  }

  /** The file's columns, by whose ids chunks are told. Not to be changed. */
  public TypeDescription schema() {
    return schema;
  }

  /**
   * The key of a column's chunk in a stripe.
   *
   * @param column its id
   */
  public ChunkKey key(Stripe stripe, int column, long representation) {
    return new ChunkKey(file, stripe.ordinal(), column, representation);
  }

  /** The encoded chunk of a column in a stripe; null where it has none that is for the cache. */
  public ChunkRequest chunk(Stripe stripe, int column) {
    return chunks.get(key(stripe, column, ChunkKey.ENCODED));
  }

  /**
   * Adds the next stripe.
   *
   * @param at where its footer lies
   * @param bytes of the footer, as they are in the file
   */
  void add(
      OrcProto.StripeInformation stripe, Range at, byte[] bytes, OrcProto.StripeFooter footer) {
    long offset = stripe.getOffset();
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
    long firstRow = 0;
    if (!stripes.isEmpty()) {
      Stripe before = stripes.get(stripes.size() - 1);
      firstRow = before.firstRow() + before.rows();
    }
    stripes.add(
        new Stripe(stripes.size(), offset, at.end() - offset, firstRow, stripe.getNumberOfRows()));
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
      ChunkRequest chunk = new ChunkRequest(key, offset, (int) length);
      index.add(chunk);
      chunks.put(key, chunk);
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
    long[] starts = stripes.stream().mapToLong(Stripe::offset).toArray();
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
