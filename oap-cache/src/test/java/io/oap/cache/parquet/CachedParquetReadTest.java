package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.HadoopFileSource;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Files read in full: the rows Parquet alone reads, and nothing from the file the second time. */
class CachedParquetReadTest {
  private static final int COLUMNS = SampleFile.SCHEMA.getColumns().size();

  private static final MessageType TWO_COLUMNS =
      MessageTypeParser.parseMessageType(
          "message m { optional double price; optional binary city (STRING); }");

  @TempDir Path directory;
  private ReadingFixture reading;

  @BeforeEach
  void open() throws IOException {
    reading = new ReadingFixture(directory, "16m");
  }

  @AfterEach
  void nothingIsLeftBehind() {
    reading.close();
  }

  /** The codecs whose libraries Parquet brings along, both kinds of pages, with dictionaries. */
  static Stream<Arguments> encodings() {
    List<Arguments> all = new ArrayList<>();
    for (CompressionCodecName codec :
        List.of(
            CompressionCodecName.UNCOMPRESSED,
            CompressionCodecName.SNAPPY,
            CompressionCodecName.GZIP,
            CompressionCodecName.ZSTD,
            CompressionCodecName.LZ4_RAW)) {
      for (WriterVersion version : WriterVersion.values()) {
        all.add(Arguments.of(codec, version, true));
        all.add(Arguments.of(codec, version, false));
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("encodings")
  void anyEncoding_isReadRight_secondReadOpensNothing(
      CompressionCodecName codec, WriterVersion version, boolean hasDictionaries)
      throws IOException {
    reading.write(
        1100,
        writer ->
            writer
                .withRowGroupRowCountLimit(400)
                .withCompressionCodec(codec)
                .withWriterVersion(version)
                .withDictionaryEncoding(hasDictionaries));
    reading.assertSame();
    assertEquals(3 * COLUMNS, reading.counters.chunksMissed());
    assertEquals(reading.fs.bytesRead.get(), reading.counters.bytesFromFile());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
    assertEquals(3 * COLUMNS, reading.counters.chunksHit());
  }

  @Test
  void columns_areLoadedWhenTheyAreWanted() throws IOException {
    reading.write(3000, writer -> writer);
    reading.assertSame(ReadingFixture.AS_IT_IS, TWO_COLUMNS);
    assertEquals(3 * 2, reading.counters.chunksMissed());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, TWO_COLUMNS);
    reading.assertSame();
    assertEquals(3 * 2, reading.counters.chunksHit());
    assertEquals(3 * (COLUMNS - 2), reading.counters.chunksMissed());
  }

  @Test
  void bytesCounted_areTheBytesOfTheChunks() throws IOException {
    reading.write(3000, writer -> writer);
    CachedParquetFile file = reading.lookUp();
    long ofFooter = reading.counters.bytesFromFile();
    long ofChunks =
        file.footer().getBlocks().stream().mapToLong(BlockMetaData::getCompressedSize).sum();
    reading.assertSame();
    assertEquals(ofChunks, reading.counters.bytesFromFile());
    assertTrue(ofFooter > 0 && reading.counters.loadNanos() > 0);
    reading.assertSame();
    assertEquals(ofChunks, reading.counters.bytesFromPool());
    assertEquals(0, reading.counters.loadNanos());
  }

  @Test
  void poolThatIsTooSmall_evicts_andRowsAreRight() throws IOException {
    reading.close();
    reading = new ReadingFixture(directory, "1m");
    reading.write(
        30_000,
        writer ->
            writer
                .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
                .withRowGroupRowCountLimit(4000));
    for (int i = 0; i < 3; i++) {
      reading.assertSame();
      CacheCounters counters = reading.counters;
      assertEquals(8 * COLUMNS, counters.chunksAsked());
    }
    assertTrue(reading.cache.poolStats().evictions() > 0);
  }

  @Test
  void checksumsOfPages_holdForBytesInThePool() throws IOException {
    reading.write(
        2000,
        writer ->
            writer
                .withPageWriteChecksumEnabled(true)
                .withCompressionCodec(CompressionCodecName.SNAPPY));
    reading.assertSame(options -> options.usePageChecksumVerification(true), SampleFile.SCHEMA);
    reading.assertSameWithoutTheFile(
        options -> options.usePageChecksumVerification(true), SampleFile.SCHEMA);
  }

  @Test
  void readerWithoutVectoredReads_isServedToo() throws IOException {
    reading.write(2000, writer -> writer);
    reading.assertSame(options -> options.withUseHadoopVectoredIo(false), SampleFile.SCHEMA);
    reading.assertSame();
    reading.assertSame(options -> options.withUseHadoopVectoredIo(false), SampleFile.SCHEMA);
  }

  @Test
  void localFileSystemOfHadoop_isReadThroughItsVectoredReads() throws IOException {
    reading.write(3000, writer -> writer);
    List<String> expected = reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
    Configuration conf = new Configuration();
    var path = new org.apache.hadoop.fs.Path("file://" + reading.file);
    for (int i = 0; i < 2; i++) {
      CacheCounters counters = new CacheCounters();
      CachedParquetFile file =
          new CachedParquetFile(
              new HadoopFileSource(path, conf),
              () -> HadoopReadOptions.builder(conf, path).build(),
              reading.cache,
              new ReadContext(counters));
      try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
        assertEquals(expected, ReadingFixture.rows(reader, SampleFile.SCHEMA));
      }
      assertEquals(3 * COLUMNS, i == 0 ? counters.chunksMissed() : counters.chunksHit());
    }
  }

  @Test
  void pins_endWithTheRowGroup() throws IOException {
    reading.write(2000, writer -> writer);
    reading.assertSame();
    CachedParquetFile file = reading.lookUp();
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(0, reading.cache.poolStats().pinnedChunks());
      for (int rowGroup = 0; rowGroup < 2; rowGroup++) {
        assertNotNull(reader.readNextRowGroup());
        assertEquals(COLUMNS, reading.cache.poolStats().pinnedChunks());
      }
      assertNull(reader.readNextRowGroup());
    }
    assertEquals(0, reading.cache.poolStats().pinnedChunks());
  }

  @Test
  void fileWithoutRows_isReadRight() throws IOException {
    reading.write(0, writer -> writer);
    reading.assertSame();
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  /** A source of another kind: the bytes of a file on the heap. */
  private record HeapSource(FileIdentity identity, byte[] bytes, AtomicInteger opened)
      implements FileSource {
    @Override
    public FileStream open() {
      opened.incrementAndGet();
      return new FileStream() {
        @Override
        public int read(long position, ByteBuffer into) {
          int count = (int) Math.min(into.remaining(), bytes.length - position);
          into.put(bytes, (int) position, Math.max(count, 0));
          return count > 0 ? count : -1;
        }

        @Override
        public List<ByteBuffer> read(List<Range> ranges) {
          return ranges.stream()
              .map(range -> ByteBuffer.wrap(bytes, (int) range.offset(), range.length()))
              .toList();
        }

        @Override
        public void close() {}
      };
    }
  }

  @Test
  void fileOfAnySource_isReadThroughTheCache() throws IOException {
    reading.write(3000, writer -> writer);
    List<String> expected = reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
    byte[] bytes = Files.readAllBytes(reading.file);
    FileIdentity identity = new FileIdentity("heap:/sample", bytes.length, 1, "");
    HeapSource source = new HeapSource(identity, bytes, new AtomicInteger());
    for (int i = 0; i < 2; i++) {
      reading.fs.resetCounts();
      reading.counters = new CacheCounters();
      try (ParquetFileReader reader = reading.open(reading.open(source), ReadingFixture.AS_IT_IS)) {
        assertEquals(expected, ReadingFixture.rows(reader, SampleFile.SCHEMA));
      }
      assertEquals(
          3 * COLUMNS, i == 0 ? reading.counters.chunksMissed() : reading.counters.chunksHit());
      assertEquals(0, reading.fs.opened.get());
    }
    assertEquals(0, reading.counters.bytesFromFile());
  }
}
