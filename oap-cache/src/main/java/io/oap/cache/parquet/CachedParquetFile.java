package io.oap.cache.parquet;

import io.oap.cache.ChunkRequest;
import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileIdentities;
import io.oap.cache.file.KnownFiles;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.SeekableInputStream;

/**
 * One version of a Parquet file, read through a {@link ColumnCache}. Creating one asks the file
 * system for the file's status, so that only the version that is there now is served; the file
 * itself is opened only for what the cache lacks. For one reader on one thread.
 */
public final class CachedParquetFile {
  private final ColumnCache cache;
  private final ReadContext context;
  private final HadoopInputFile inputFile;
  private final FileIdentity identity;
  private final FileId id;
  private final CachedFooter footer;

  /**
   * Looks the file up and makes sure of its footer.
   *
   * @throws IOException as Parquet's own reader would throw it for a file that is missing or no
   *     Parquet file
   */
  public CachedParquetFile(Path path, Configuration conf, ColumnCache cache, ReadContext context)
      throws IOException {
    this.cache = cache;
    this.context = context;
    FileStatus status = path.getFileSystem(conf).getFileStatus(path);
    inputFile = HadoopInputFile.fromStatus(status, conf);
    identity = FileIdentities.of(status);
    id = identity.id();
    footer = cache.footers().footer(id, this::readFooter);
    if (!footer.isEncrypted()) {
      cache.files().add(id, () -> footer.describe(identity));
    }
  }

  private CachedFooter readFooter() throws IOException {
    ParquetReadOptions options =
        HadoopReadOptions.builder(inputFile.getConfiguration(), inputFile.getPath()).build();
    try (VersionedFileStream stream = fileStream()) {
      return new CachedFooter(id, ParquetFileReader.readFooter(inputFile, options, stream));
    }
  }

  private VersionedFileStream fileStream() {
    return new VersionedFileStream(identity, inputFile, context.counters());
  }

  /** Which version of the file this is. */
  public FileIdentity identity() {
    return identity;
  }

  /** The file as Parquet's reader wants it. */
  public HadoopInputFile inputFile() {
    return inputFile;
  }

  /**
   * Records what a reader has asked for of this file.
   *
   * @param found how many of the column chunks were in the pool
   * @param asked all of them
   */
  public void recordRead(long found, long asked) {
    KnownFiles.KnownFile known = cache.files().get(id);
    if (known != null) {
      known.reads().add(found, asked);
    }
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
   * The row groups of a split: those whose middle byte lies in it.
   *
   * @param start first byte of the split
   * @param length bytes of the split
   * @throws IllegalStateException when the file is encrypted
   */
  public List<RowGroup> rowGroups(long start, long length) {
    if (isEncrypted()) {
      throw new IllegalStateException("Encrypted files are not cached: " + inputFile);
    }
    List<RowGroup> rowGroups = new ArrayList<>();
    for (int i = 0; i < footer.rowGroupsForReading().size(); i++) {
      BlockMetaData rowGroup = footer.metadata().getBlocks().get(i);
      long middle = rowGroup.getStartingPos() + rowGroup.getCompressedSize() / 2;
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
    try (VersionedFileStream stream = fileStream()) {
      cache.chunks().load(wanted, stream, context);
    }
  }

  /** The file's bytes, read around the cache; to be closed by the caller. */
  public SeekableInputStream newStreamOfFile() {
    return fileStream();
  }

  /** The file's bytes, chunks from the cache; to be closed by the caller. */
  public CachedParquetStream newStream() {
    return new CachedParquetStream(
        fileStream(), id, footer, cache.footers(), cache.chunks(), context);
  }
}
