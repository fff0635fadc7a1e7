package io.oap.cache.parquet;

import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.TailStream;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.stats.Figure;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.SeekableInputStream;

/**
 * One version of a Parquet file, read through a {@link ColumnCache}. The file is opened only for
 * what the cache lacks; where that is the footer of a small file, it is read whole and once. For
 * one reader on one thread.
 */
public final class CachedParquetFile {
  private final ColumnCache cache;
  private final ReadContext context;
  private final FileSource source;
  private final Supplier<ParquetReadOptions> options;
  private final FileId id;
  private final CachedFooter footer;

  /** All bytes of a small file that had to be read for its footer; else null. */
  private ByteBuffer whole;

  /**
   * Makes sure of the file's footer.
   *
   * @param source the version that is there now
   * @param options how Parquet reads a footer that is not cached
   * @throws IOException as Parquet's own reader would throw it for a file that is missing or no
   *     Parquet file
   */
  public CachedParquetFile(
      FileSource source,
      Supplier<ParquetReadOptions> options,
      ColumnCache cache,
      ReadContext context)
      throws IOException {
    this.cache = cache;
    this.context = context;
    this.source = source;
    this.options = options;
    id = identity().id();
    footer = cache.footers().footer(id, this::readFooter);
    if (!footer.isEncrypted()) {
      cache.files().add(id, () -> footer.describe(identity()));
    }
  }

  private CachedFooter readFooter() throws IOException {
    long length = identity().length();
    boolean isSmall = TailStream.isSmall(length);
    int tailBytes = isSmall || !source.isAskedAfterRanges() ? TailStream.bytesFor(length) : 0;
    try (TailStream file = new TailStream(source.open(), length, tailBytes, this::countBeyond)) {
      CachedFooter read = ParquetLayout.read(file, identity(), options.get(), context.counters());
      whole = isSmall ? file.tail() : null;
      return read;
    }
  }

  private FileStream open() {
    FileStream file = source.open();
    return whole == null
        ? file
        : new TailStream(file, identity().length(), whole, this::countBeyond);
  }

  private void countBeyond(long bytes) {
    context.counters().add(Figure.BYTES_FROM_FILE, bytes);
  }

  /** Which version of the file this is. */
  public FileIdentity identity() {
    return source.identity();
  }

  /**
   * Records what a reader has asked for of this file.
   *
   * @param found how many of the column chunks were in the pool
   * @param asked all of them
   */
  public void recordRead(long found, long asked) {
    cache.files().recordRead(id, found, asked);
  }

  /** Whether the file's data or footer is encrypted; such files are not for the cache. */
  public boolean isEncrypted() {
    return footer.isEncrypted();
  }

  /** The whole footer, shared: not to be changed. */
  public ParquetMetadata footer() {
    return footer.metadata();
  }

  /**
   * A row group of the file.
   *
   * @param ordinal its place in the footer, from 0
   * @param metaData its columns; goes with {@link #newStream} only
   */
  public record RowGroup(int ordinal, BlockMetaData metaData) {}

  /**
   * The row groups of a split: those whose middle byte lies in it, as Parquet's own reader sees it;
   * of a whole file all.
   *
   * @param start first byte of the split
   * @param length bytes of the split
   * @throws IllegalStateException when the file is encrypted
   */
  public List<RowGroup> rowGroups(long start, long length) {
    if (isEncrypted()) {
      throw new IllegalStateException("Encrypted files are not cached: " + identity().path());
    }
    boolean isWhole = start == 0 && length >= identity().length();
    List<RowGroup> rowGroups = new ArrayList<>();
    for (int i = 0; i < footer.rowGroupsForReading().size(); i++) {
      long middle = isWhole ? 0 : footer.middle(i);
      if (start <= middle && middle < start + length) {
        rowGroups.add(new RowGroup(i, footer.rowGroupsForReading().get(i)));
      }
    }
    return rowGroups;
  }

  /**
   * The key of a chunk of this version of the file.
   *
   * @param column ordinal of the leaf column in the file's schema
   */
  public ChunkKey key(RowGroup rowGroup, int column, long representation) {
    return new ChunkKey(id, rowGroup.ordinal(), column, representation);
  }

  /**
   * The chunk of a column in a row group, encoded; null where it has none that is for the cache.
   */
  public ChunkRequest chunk(RowGroup rowGroup, int column) {
    return footer.chunk(key(rowGroup, column, ChunkKey.ENCODED));
  }

  /**
   * Sees to it that the pool holds chunks of this file, as far as it takes them in.
   *
   * @param wanted what {@link #chunk} gave, to be loaded together
   */
  public void load(List<ChunkRequest> wanted) throws IOException {
    try (FileStream stream = open()) {
      cache.chunks().get(wanted, stream, context).close();
    }
  }

  /** The file's bytes, read around the cache; to be closed by the caller. */
  public SeekableInputStream newStreamOfFile() {
    return new ParquetFileStream(source.open(), context.counters());
  }

  /** The file's bytes, chunks from the cache; to be closed by the caller. */
  public CachedParquetStream newStream() {
    return new CachedParquetStream(open(), id, footer, cache.footers(), cache.chunks(), context);
  }
}
