package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.ReadContext;
import io.oap.cache.file.FileReplacedException;
import io.oap.cache.file.HadoopFileSource;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stream.CachedFileStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.SeekableInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Parquet files read through the cache by readers that know nothing of it. */
class ParquetLayoutTest {
  @TempDir Path directory;
  private ReadingFixture reading;

  @BeforeEach
  void open() throws IOException {
    reading = new ReadingFixture(directory, "16m");
    reading.write(
        3000,
        options ->
            options
                .withCompressionCodec(CompressionCodecName.SNAPPY)
                .withBloomFilterEnabled("city", true));
  }

  @AfterEach
  void nothingIsLeftBehind() {
    reading.close();
  }

  private CachedFileStream stream() throws IOException {
    reading.counters = new CacheCounters();
    return new CachedFileStream(
        new HadoopFileSource(reading.path, reading.conf),
        ParquetLayout.READER,
        reading.cache,
        new ReadContext(reading.counters));
  }

  /** Rows by Parquet's reader, which reads the footer by itself and joins columns to one range. */
  private List<String> rows() throws IOException {
    try (CachedFileStream stream = stream();
        SeekableInputStream in = new ParquetFileStream(stream, new CacheCounters());
        ParquetFileReader reader =
            new ParquetFileReader(
                ParquetLayout.inputFile(
                    new HadoopFileSource(reading.path, reading.conf).identity()),
                ParquetFileReader.readFooter(
                    ParquetLayout.inputFile(
                        new HadoopFileSource(reading.path, reading.conf).identity()),
                    reading.options(ReadingFixture.AS_IT_IS),
                    in),
                reading.options(ReadingFixture.AS_IT_IS),
                in)) {
      return ReadingFixture.rows(reader, SampleFile.SCHEMA);
    }
  }

  @Test
  void rows_areThoseOfParquetAlone_andTheSecondTimeNothingIsOpened() throws IOException {
    List<String> expected = reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
    assertEquals(expected, rows());
    assertTrue(reading.counters.chunksMissed() > 0);
    reading.fs.resetCounts();
    assertEquals(expected, rows());
    assertEquals(0, reading.fs.opened.get());
    assertEquals(0, reading.fs.bytesRead.get());
    assertEquals(0, reading.counters.bytesFromFile());
    // What one reader has loaded the other finds.
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  @Test
  void anyByte_isThatOfTheFile() throws IOException {
    byte[] expected = Files.readAllBytes(reading.file);
    for (int round = 0; round < 2; round++) {
      byte[] found = new byte[expected.length];
      try (CachedFileStream stream = stream()) {
        for (int at = 0; at < found.length; at++) {
          stream.readFully(at, ByteBuffer.wrap(found, at, 1));
        }
      }
      assertArrayEquals(expected, found);
    }
  }

  /** Iceberg fetches small files so. */
  @Test
  void wholeFile_theSecondTime_isNotOpened() throws IOException {
    byte[] expected = Files.readAllBytes(reading.file);
    for (int round = 0; round < 2; round++) {
      reading.fs.resetCounts();
      ByteBuffer all = ByteBuffer.allocate(expected.length);
      try (CachedFileStream stream = stream()) {
        stream.readFully(0, all);
      }
      assertArrayEquals(expected, all.array());
    }
    assertEquals(0, reading.fs.opened.get());
  }

  @Test
  void bloomFiltersWhoseLengthTheFooterLeavesOut_areNotReadWithIt() throws IOException {
    reading.write(3000, options -> options.withBloomFilterEnabled("id", true));
    SampleFile.rewriteFooter(
        reading.file,
        footer ->
            footer.getRow_groups().stream()
                .flatMap(rowGroup -> rowGroup.getColumns().stream())
                .forEach(column -> column.getMeta_data().unsetBloom_filter_length()));
    byte[] expected = Files.readAllBytes(reading.file);
    assertTrue(expected.length > 1 << 20, "the filters are large");
    reading.fs.resetCounts();
    ByteBuffer end = ByteBuffer.allocate(8);
    try (CachedFileStream stream = stream()) {
      stream.readFully(expected.length - end.capacity(), end);
      assertTrue(reading.fs.bytesRead.get() < 1 << 18, () -> reading.fs.bytesRead + " bytes");
      ByteBuffer all = ByteBuffer.allocate(expected.length);
      stream.readFully(0, all);
      assertArrayEquals(expected, all.array());
    }
    assertEquals("PAR1", new String(end.array(), 4, 4, StandardCharsets.US_ASCII));
  }

  @Test
  void fileOfAnotherFormat_isReadAround() throws IOException {
    Files.write(reading.file, new byte[100_000]);
    reading.fs.resetCounts();
    ByteBuffer all = ByteBuffer.allocate(100_000);
    try (CachedFileStream stream = stream()) {
      stream.readFully(0, all);
    }
    assertArrayEquals(new byte[100_000], all.array());
    assertEquals(0, reading.cache.poolStats().usedBytes());
  }

  @Test
  void fileThatIsReplacedAfterItsStatus_failsTheRead() throws IOException {
    try (CachedFileStream stream = stream()) {
      Files.write(reading.file, new byte[77]);
      assertThrows(FileReplacedException.class, () -> stream.readFully(0, ByteBuffer.allocate(10)));
    }
  }

  @Test
  void defaults_areFoundWithoutConfigurationFiles() {
    assertInstanceOf(PlainParquetConfiguration.class, ParquetLayout.DEFAULTS.getConfiguration());
  }
}
