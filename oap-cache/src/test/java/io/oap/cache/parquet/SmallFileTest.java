package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.parquet.CachedParquetFile.RowGroup;
import io.oap.cache.stream.CachedFileStream;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How often files are opened and read: small ones once, and no byte of large ones for nothing. */
class SmallFileTest {
  @TempDir Path directory;
  private ReadingFixture reading;
  private CountedSource source;

  /** The bytes of a file, as a store gives them that is asked for ranges. */
  private static final class CountedSource implements FileSource {
    private final byte[] bytes;
    private int opened;
    private int closed;
    private final List<List<FileStream.Range>> reads = new ArrayList<>();

    CountedSource(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    public FileIdentity identity() {
      return new FileIdentity("counted://sample.parquet", bytes.length, 0, "");
    }

    long bytesRead() {
      return reads.stream().flatMap(List::stream).mapToLong(FileStream.Range::length).sum();
    }

    @Override
    public FileStream open() {
      return new FileStream() {
        private boolean isOpen;

        @Override
        public List<ByteBuffer> read(List<Range> ranges) {
          opened += isOpen ? 0 : 1;
          isOpen = true;
          reads.add(List.copyOf(ranges));
          return ranges.stream()
              .map(range -> ByteBuffer.wrap(bytes, (int) range.offset(), range.length()).slice())
              .toList();
        }

        @Override
        public int read(long position, ByteBuffer into) {
          if (position >= bytes.length) {
            return -1;
          }
          int count = (int) Math.min(into.remaining(), bytes.length - position);
          into.put(read(List.of(new Range(position, count))).get(0));
          return count;
        }

        @Override
        public void close() {
          closed += isOpen ? 1 : 0;
          isOpen = false;
        }
      };
    }
  }

  @BeforeEach
  void open() throws IOException {
    reading = new ReadingFixture(directory, "64m");
  }

  @AfterEach
  void nothingIsLeftBehind() {
    assertEquals(source.opened, source.closed);
    reading.close();
  }

  private void write(int rows, int least, int most) throws IOException {
    reading.write(rows, options -> options.withDictionaryEncoding(false));
    source = new CountedSource(Files.readAllBytes(reading.file));
    assertTrue(source.bytes.length > least && source.bytes.length < most, "" + source.bytes.length);
  }

  private void readFooterAndAllChunks() throws IOException {
    CachedParquetFile file = reading.open(source);
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(
          reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA),
          ReadingFixture.rows(reader, SampleFile.SCHEMA));
    }
  }

  private void readWhole() throws IOException {
    ByteBuffer all = ByteBuffer.allocate(source.bytes.length);
    try (CachedFileStream stream = stream()) {
      stream.readFully(0, all);
    }
    assertArrayEquals(source.bytes, all.array());
  }

  private CachedFileStream stream() {
    return new CachedFileStream(
        source, ParquetLayout.READER, reading.cache, new ReadContext(reading.counters));
  }

  private void assertReadOnce() {
    assertEquals(source.bytes.length, reading.counters.bytesFromFile());
    assertEquals(1, source.opened);
    assertEquals(List.of(List.of(new FileStream.Range(0, source.bytes.length))), source.reads);
  }

  @Test
  void smallFile_isReadOnce_forItsFooterAndAllChunks() throws IOException {
    write(5000, 200 << 10, 1 << 20);
    readFooterAndAllChunks();
    assertReadOnce();
    readFooterAndAllChunks();
    assertReadOnce();
  }

  @Test
  void smallFile_isReadOnce_toLoadItsChunks() throws IOException {
    write(5000, 200 << 10, 1 << 20);
    CachedParquetFile file = reading.open(source);
    for (RowGroup group : file.rowGroups(0, Long.MAX_VALUE)) {
      file.load(List.of(file.chunk(group, 0), file.chunk(group, 2)));
    }
    assertReadOnce();
  }

  @Test
  void smallFile_isReadOnce_byReadersOfOtherLibraries() throws IOException {
    write(5000, 200 << 10, 1 << 20);
    readWhole();
    assertReadOnce();
    readWhole();
    assertReadOnce();
  }

  @Test
  void missingChunk_ofAKnownFile_isAllThatIsRead() throws IOException {
    write(5000, 200 << 10, 1 << 20);
    readWhole();
    CachedParquetFile file = reading.open(source);
    List<RowGroup> groups = file.rowGroups(0, Long.MAX_VALUE);
    var last = file.chunk(groups.get(groups.size() - 1), 0);
    assertTrue(reading.cache.chunks().drop(last.key()));
    source.reads.clear();
    readWhole();
    assertEquals(last.length(), source.bytesRead());
  }

  @Test
  void largeFile_isReadByItsEndFirst_andNeverForItsMagicNumber() throws IOException {
    write(30_000, 1 << 20, 10 << 20);
    try (CachedFileStream stream = stream()) {
      stream.readFully(0, ByteBuffer.allocate(4));
    }
    int end = source.bytes.length;
    assertEquals(
        List.of(List.of(new FileStream.Range(end - (128 << 10), 128 << 10))), source.reads);
    reading.cache.footers().clear();
    source.reads.clear();
    reading.open(source);
    assertEquals(
        List.of(List.of(new FileStream.Range(end - (128 << 10), 128 << 10))), source.reads);
  }
}
