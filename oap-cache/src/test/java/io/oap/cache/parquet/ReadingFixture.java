package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.HadoopFileSource;
import io.oap.cache.parquet.CachedParquetFile.RowGroup;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.schema.MessageType;

/**
 * Reads Parquet files through a cache and, for comparison, by Parquet alone; the same reader does
 * both. Closing it fails when a stream or a pin was left open.
 */
final class ReadingFixture implements AutoCloseable {

  /** How to read: see ParquetReadOptions. */
  interface Settings extends UnaryOperator<ParquetReadOptions.Builder> {}

  static final Settings AS_IT_IS = options -> options;

  final Configuration conf = new Configuration();
  final WatchedFileSystem fs;
  final ColumnCache cache;
  final Path path;
  final java.nio.file.Path file;

  /** What the last cached read counted. */
  CacheCounters counters = new CacheCounters();

  /** A cache of this size, and the name of a file that is not there yet. */
  ReadingFixture(java.nio.file.Path directory, String poolSize) throws IOException {
    fs = WatchedFileSystem.of(conf);
    cache = ColumnCache.open(Map.of("spark.oap.pool.size", poolSize)::get);
    file = directory.resolve("sample.parquet");
    path = new Path("watched://" + file);
  }

  void write(int rows, SampleFile.Settings settings) throws IOException {
    SampleFile.write(path, conf, rows, 1, settings);
    fs.resetCounts();
  }

  ParquetReadOptions options(Settings settings) {
    ParquetReadOptions.Builder builder = HadoopReadOptions.builder(conf, path);
    return settings.apply(builder.withUseHadoopVectoredIo(true)).build();
  }

  /** All rows by Parquet alone, as text. */
  List<String> plain(Settings settings, MessageType columns) throws IOException {
    long opened = fs.opened.get();
    long closed = fs.closed.get();
    long bytes = fs.bytesRead.get();
    HadoopInputFile input = HadoopInputFile.fromPath(path, conf);
    try (ParquetFileReader reader = ParquetFileReader.open(input, options(settings))) {
      return rows(reader, columns);
    } finally {
      // Tests count what the cache opens and reads.
      fs.opened.set(opened);
      fs.closed.set(closed);
      fs.bytesRead.set(bytes);
    }
  }

  CachedParquetFile lookUp() throws IOException {
    counters = new CacheCounters();
    return open(new HadoopFileSource(path, conf));
  }

  /** The file, from a source of its bytes. */
  CachedParquetFile open(FileSource source) throws IOException {
    return new CachedParquetFile(source, () -> options(AS_IT_IS), cache, new ReadContext(counters));
  }

  /** The row groups of a split as Parquet's reader wants them. */
  static List<BlockMetaData> rowGroups(CachedParquetFile file, long start, long length) {
    return file.rowGroups(start, length).stream().map(RowGroup::metaData).toList();
  }

  /** A reader of the whole file over the cache. */
  ParquetFileReader open(CachedParquetFile cached, Settings settings) throws IOException {
    SeekableInputStream stream = cached.newStream();
    boolean isOpen = false;
    try {
      ParquetFileReader reader =
          new ParquetFileReader(
              ParquetLayout.inputFile(cached.identity()),
              new ParquetMetadata(
                  cached.footer().getFileMetaData(), rowGroups(cached, 0, Long.MAX_VALUE)),
              options(settings),
              stream);
      isOpen = true;
      return reader;
    } finally {
      if (!isOpen) {
        stream.close();
      }
    }
  }

  /** All rows through the cache, as text. */
  List<String> cached(Settings settings, MessageType columns) throws IOException {
    try (ParquetFileReader reader = open(lookUp(), settings)) {
      return rows(reader, columns);
    }
  }

  /** Reads through the cache and compares with Parquet alone. */
  void assertSame(Settings settings, MessageType columns) throws IOException {
    List<String> expected = plain(settings, columns);
    assertEquals(expected, cached(settings, columns));
  }

  void assertSame() throws IOException {
    assertSame(AS_IT_IS, SampleFile.SCHEMA);
  }

  /** Reads through the cache, compares, and fails when that opened the file. */
  void assertSameWithoutTheFile(Settings settings, MessageType columns) throws IOException {
    fs.resetCounts();
    assertSame(settings, columns);
    assertEquals(0, fs.opened.get());
    assertEquals(0, fs.bytesRead.get());
    assertEquals(0, counters.bytesFromFile());
  }

  static List<String> rows(ParquetFileReader reader, MessageType columns) throws IOException {
    reader.setRequestedSchema(columns);
    List<String> rows = new ArrayList<>();
    for (PageReadStore pages; (pages = reader.readNextFilteredRowGroup()) != null; ) {
      RecordReader<Group> records =
          new ColumnIOFactory()
              .getColumnIO(columns)
              .getRecordReader(pages, new GroupRecordConverter(columns));
      for (long i = 0; i < pages.getRowCount(); i++) {
        rows.add(records.read().toString());
      }
    }
    return rows;
  }

  @Override
  public void close() {
    assertEquals(fs.opened.get(), fs.closed.get(), "streams opened and closed");
    assertNull(cache.chunks().fault());
    PoolStats stats = cache.poolStats();
    assertEquals(0, stats.pinnedChunks(), stats::toString);
    assertEquals(0, stats.pinnedBytes(), stats::toString);
    cache.close();
  }
}
