package io.oap.cache.parquet;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.FileLayout;
import io.oap.cache.layout.LayoutIndex;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.FileMetaData.EncryptionType;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.internal.hadoop.metadata.IndexReference;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;

/**
 * A parsed Parquet footer, with what the cache derives from it once: which column chunk a position
 * of the file belongs to, and where the small structures around the chunks lie. Immutable, shared
 * by all readers of the file.
 */
public final class CachedFooter implements FileLayout {
  /** Rough heap size of one column chunk's metadata with its statistics and index entries. */
  private static final int HEAP_BYTES_PER_CHUNK = 1200;

  private static final int HEAP_BYTES_PER_FOOTER = 8192;

  /** Its length and the magic number. */
  private static final int BYTES_BEHIND_FOOTER = Integer.BYTES + ParquetFileWriter.MAGIC.length;

  /** Where such pages are not compressed, Spark's decoders want the bytes in arrays. */
  private static final Set<Encoding> READ_AS_ARRAYS =
      EnumSet.of(Encoding.DELTA_BYTE_ARRAY, Encoding.DELTA_LENGTH_BYTE_ARRAY);

  private final ParquetMetadata metadata;
  private final RowGroupMiddles middles;
  private final List<BlockMetaData> rowGroupsForReading;
  private final LayoutIndex index = new LayoutIndex();
  private final Map<ChunkKey, ChunkRequest> byKey = new HashMap<>();
  private final Set<ChunkKey> readAsArrays = new HashSet<>();
  private final long footerStart;
  private final int rawBytes;

  /**
   * @param fileLength of the file that the footer ends
   */
  CachedFooter(FileId file, long fileLength, ParquetMetadata metadata, RowGroupMiddles middles) {
    this.metadata = metadata;
    this.middles = middles;
    this.rawBytes = middles.bytes();
    if (isEncrypted()) {
      // Its metadata can be looked at with the keys of its columns only.
      this.rowGroupsForReading = List.of();
      this.footerStart = Long.MAX_VALUE;
      return;
    }
    this.rowGroupsForReading = new ArrayList<>(metadata.getBlocks().size());
    index.addStructure(0, ParquetFileWriter.MAGIC.length);
    Map<ColumnPath, Integer> ordinals = leafOrdinals(metadata);
    for (int i = 0; i < metadata.getBlocks().size(); i++) {
      BlockMetaData rowGroup = metadata.getBlocks().get(i);
      rowGroupsForReading.add(inReverseFileOrder(rowGroup));
      for (ColumnChunkMetaData chunk : rowGroup.getColumns()) {
        // The place in the footer, not getOrdinal(): older writers leave that out.
        addChunk(file, i, ordinals.get(chunk.getPath()), chunk);
      }
      addRun(rowGroup, ColumnChunkMetaData::getColumnIndexReference);
      addRun(rowGroup, ColumnChunkMetaData::getOffsetIndexReference);
    }
    // Bloom filters may lie in between, whose lengths the footer may leave out.
    this.footerStart = Math.max(endOfKnown(), fileLength - BYTES_BEHIND_FOOTER - rawBytes);
  }

  private static Map<ColumnPath, Integer> leafOrdinals(ParquetMetadata metadata) {
    Map<ColumnPath, Integer> ordinals = new HashMap<>();
    List<ColumnDescriptor> leaves = metadata.getFileMetaData().getSchema().getColumns();
    for (int i = 0; i < leaves.size(); i++) {
      ColumnPath path = ColumnPath.get(leaves.get(i).getPath());
      // Of columns that have one name nobody can tell which chunk is whose.
      ordinals.put(path, ordinals.containsKey(path) ? null : Integer.valueOf(i));
    }
    return ordinals;
  }

  /**
   * Returns a row group with its columns in descending order of position. Parquet's reader joins
   * neighbouring columns to one range only when they come in ascending order; this way every range
   * it asks for is one column chunk or a part of one.
   */
  private static BlockMetaData inReverseFileOrder(BlockMetaData rowGroup) {
    BlockMetaData reversed = new BlockMetaData();
    reversed.setOrdinal(rowGroup.getOrdinal());
    reversed.setPath(rowGroup.getPath());
    reversed.setRowCount(rowGroup.getRowCount());
    reversed.setRowIndexOffset(rowGroup.getRowIndexOffset());
    reversed.setTotalByteSize(rowGroup.getTotalByteSize());
    rowGroup.getColumns().stream()
        .sorted(Comparator.comparingLong(ColumnChunkMetaData::getStartingPos).reversed())
        .forEach(reversed::addColumn);
    return reversed;
  }

  private void addChunk(FileId file, int rowGroup, Integer ordinal, ColumnChunkMetaData chunk) {
    long length = chunk.getTotalSize();
    // A chunk the reader could not ask for in one range, or of a column that the schema does not
    // know or has twice, is left to plain reads.
    if (ordinal == null || length <= 0 || length >= Integer.MAX_VALUE) {
      return;
    }
    ChunkKey key = ChunkKey.encoded(file, rowGroup, ordinal);
    ChunkRequest request = new ChunkRequest(key, chunk.getStartingPos(), (int) length);
    index.add(request);
    byKey.put(key, request);
    if (chunk.getEncodings().stream().anyMatch(READ_AS_ARRAYS::contains) || isBareDecimal(chunk)) {
      readAsArrays.add(key);
    }
    if (chunk.hasDictionaryPage() && chunk.getFirstDataPageOffset() > chunk.getStartingPos()) {
      index.addStructure(
          chunk.getStartingPos(), chunk.getFirstDataPageOffset() - chunk.getStartingPos());
    }
    if (chunk.getBloomFilterOffset() >= 0 && chunk.getBloomFilterLength() > 0) {
      index.addStructure(chunk.getBloomFilterOffset(), chunk.getBloomFilterLength());
    }
  }

  private interface Reference {
    IndexReference of(ColumnChunkMetaData chunk);
  }

  /** Writers put the indexes of a row group's columns one behind the other: one run to read. */
  private void addRun(BlockMetaData rowGroup, Reference reference) {
    NavigableMap<Long, Integer> lengths = new TreeMap<>();
    for (ColumnChunkMetaData chunk : rowGroup.getColumns()) {
      IndexReference found = reference.of(chunk);
      if (found != null) {
        lengths.put(found.getOffset(), found.getLength());
      }
    }
    long start = -1;
    long end = -1;
    for (Map.Entry<Long, Integer> one : lengths.entrySet()) {
      if (one.getKey() != end) {
        index.addStructure(start, end - start);
        start = one.getKey();
      }
      end = one.getKey() + one.getValue();
    }
    index.addStructure(start, end - start);
  }

  /** Whether the file was written with encryption, be it of some columns only. */
  boolean isEncrypted() {
    return metadata.getFileMetaData().getEncryptionType() != EncryptionType.UNENCRYPTED;
  }

  /** The footer as it was parsed. */
  ParquetMetadata metadata() {
    return metadata;
  }

  /** All row groups, each with its columns in reverse file order; none of an encrypted file. */
  List<BlockMetaData> rowGroupsForReading() {
    return rowGroupsForReading;
  }

  /** Where Parquet's own reader sees the middle of a row group. */
  long middle(int rowGroup) {
    return middles.of(rowGroup);
  }

  /** The chunk of this key, or null. */
  ChunkRequest chunk(ChunkKey key) {
    return byKey.get(key);
  }

  /** The chunk in which {@code [offset, offset + length)} lies, or null. */
  ChunkRequest chunkAround(long offset, int length) {
    ChunkRequest chunk = index.chunkAt(offset);
    return chunk != null && offset + length <= chunk.end() ? chunk : null;
  }

  /** Decimals stored as bytes and not compressed: Spark takes them from the dictionary's array. */
  private static boolean isBareDecimal(ColumnChunkMetaData chunk) {
    PrimitiveType type = chunk.getPrimitiveType();
    return chunk.getCodec() == CompressionCodecName.UNCOMPRESSED
        && type.getLogicalTypeAnnotation() instanceof DecimalLogicalTypeAnnotation
        && (type.getPrimitiveTypeName() == PrimitiveTypeName.BINARY
            || type.getPrimitiveTypeName() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY);
  }

  /**
   * Whether the chunk may only be handed to Spark's reader as buffers that have an array and start
   * at its first byte: {@code VectorizedDeltaByteArrayReader} takes {@code array()} and forgets
   * {@code arrayOffset()}. A page may be uncompressed in a chunk of any codec, so the codec is not
   * asked.
   */
  boolean isReadAsArrays(ChunkRequest chunk) {
    return readAsArrays.contains(chunk.key());
  }

  @Override
  public LayoutIndex index() {
    return index;
  }

  /** The magic number at the start, which stands at the end, too, and was found there. */
  @Override
  public byte[] structure(Range range) {
    return range.offset() == 0 ? ParquetFileWriter.MAGIC : null;
  }

  @Override
  public long footerStart() {
    return footerStart;
  }

  /** Where all ends that a footer tells of, chunks that are not for the cache among it. */
  private long endOfKnown() {
    return metadata.getBlocks().stream()
        .flatMap(rowGroup -> rowGroup.getColumns().stream())
        .mapToLong(chunk -> chunk.getStartingPos() + chunk.getTotalSize())
        .reduce(index.end(), Math::max);
  }

  @Override
  public KnownFile describe(FileIdentity identity) {
    List<ColumnDescriptor> leaves = metadata.getFileMetaData().getSchema().getColumns();
    List<String> columns = leaves.stream().map(leaf -> leaf.getPath()[0].intern()).toList();
    List<BlockMetaData> rowGroups = metadata.getBlocks();
    long[] starts = rowGroups.stream().mapToLong(BlockMetaData::getStartingPos).toArray();
    return new KnownFile(
        identity, columns, starts, index.chunkBytes(rowGroups.size(), columns.size()));
  }

  @Override
  public long heapBytes() {
    long columnChunks =
        metadata.getBlocks().stream().mapToLong(rowGroup -> rowGroup.getColumns().size()).sum();
    return HEAP_BYTES_PER_FOOTER + rawBytes + columnChunks * HEAP_BYTES_PER_CHUNK;
  }
}
