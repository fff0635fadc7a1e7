package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.crypto.ColumnEncryptionProperties;
import org.apache.parquet.crypto.FileEncryptionProperties;
import org.apache.parquet.crypto.ParquetCryptoRuntimeException;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.ParquetFileRange;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Splits, and files that are not what today's writers make of an ordinary table. */
class CachedParquetLayoutTest {
  private static final int COLUMNS = SampleFile.SCHEMA.getColumns().size();

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

  private static List<Long> starts(List<BlockMetaData> rowGroups) {
    return rowGroups.stream().map(BlockMetaData::getRowIndexOffset).toList();
  }

  @Test
  void splits_haveEachRowGroupOnce_asParquetDividesThem() throws IOException {
    reading.write(7000, writer -> writer.withRowGroupRowCountLimit(700));
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("CachedParquetLayoutTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    CachedParquetFile file = reading.lookUp();
    HadoopInputFile input = HadoopInputFile.fromPath(reading.path, reading.conf);
    long length = input.getLength();
    List<Long> all = starts(file.footer().getBlocks());
    assertEquals(10, all.size());
    for (int i = 0; i < 10; i++) {
      TreeSet<Long> cuts = new TreeSet<>(List.of(0L, length));
      random.longs(random.nextInt(20), 0, length).forEach(cuts::add);
      List<Long> found = new ArrayList<>();
      for (long start : cuts.headSet(length)) {
        long end = cuts.higher(start);
        List<Long> split = starts(ReadingFixture.rowGroups(file, start, end - start));
        try (ParquetFileReader parquet =
            ParquetFileReader.open(input, reading.options(o -> o.withRange(start, end)))) {
          assertEquals(starts(parquet.getRowGroups()), split, start + " to " + end);
        }
        found.addAll(split);
      }
      assertEquals(all, found);
    }
    reading.fs.resetCounts();
  }

  @Test
  void rowGroupsOfASplit_keepWhatTheyAre() throws IOException {
    reading.write(2500, writer -> writer);
    CachedParquetFile file = reading.lookUp();
    List<BlockMetaData> whole = file.footer().getBlocks();
    List<BlockMetaData> split = ReadingFixture.rowGroups(file, 0, Long.MAX_VALUE);
    for (int i = 0; i < whole.size(); i++) {
      BlockMetaData expected = whole.get(i);
      BlockMetaData found = split.get(i);
      assertEquals(expected.getOrdinal(), found.getOrdinal());
      assertEquals(expected.getRowCount(), found.getRowCount());
      assertEquals(expected.getRowIndexOffset(), found.getRowIndexOffset());
      assertEquals(expected.getTotalByteSize(), found.getTotalByteSize());
      assertEquals(expected.getCompressedSize(), found.getCompressedSize());
      assertEquals(COLUMNS, found.getColumns().size());
      assertTrue(expected.getColumns().containsAll(found.getColumns()));
    }
  }

  @Test
  void olderFile_withoutOrdinalsAndIndexes_isReadRight() throws IOException {
    reading.write(2500, writer -> writer);
    SampleFile.rewriteFooter(
        reading.file,
        footer -> {
          for (RowGroup rowGroup : footer.getRow_groups()) {
            rowGroup.unsetOrdinal();
            rowGroup.unsetFile_offset();
            rowGroup.unsetTotal_compressed_size();
            for (ColumnChunk chunk : rowGroup.getColumns()) {
              chunk.unsetColumn_index_offset();
              chunk.unsetOffset_index_offset();
              chunk.getMeta_data().unsetEncoding_stats();
            }
          }
        });
    reading.assertSame();
    assertEquals(3 * COLUMNS, reading.counters.chunksMissed());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  /** Some writers let two columns have one name: the others must not be taken for them. */
  @Test
  void columnsOfOneName_areReadAround_theOthersHaveTheirPlacesInTheSchema() throws IOException {
    reading.write(2500, writer -> writer);
    SampleFile.rewriteFooter(
        reading.file,
        footer -> {
          footer.getSchema().stream()
              .filter(column -> column.getName().equals("text"))
              .forEach(column -> column.setName("city"));
          for (RowGroup rowGroup : footer.getRow_groups()) {
            rowGroup.getColumns().get(3).getMeta_data().setPath_in_schema(List.of("city"));
          }
        });
    CachedParquetFile file = reading.lookUp();
    for (CachedParquetFile.RowGroup rowGroup : file.rowGroups(0, Long.MAX_VALUE)) {
      List<ColumnChunkMetaData> columns =
          file.footer().getBlocks().get(rowGroup.ordinal()).getColumns();
      for (int column = 0; column < COLUMNS; column++) {
        ChunkRequest chunk = file.chunk(rowGroup, column);
        if (column == 1 || column == 3) {
          assertNull(chunk);
        } else {
          assertEquals(columns.get(column).getStartingPos(), chunk.offset());
        }
      }
    }
    MessageType others =
        MessageTypeParser.parseMessageType(
            "message m { required int64 id; optional double price; required boolean flag; }");
    reading.assertSame(ReadingFixture.AS_IT_IS, others);
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, others);
  }

  /** Some writers end a file with a row group of nothing, or put one between others. */
  @Test
  void rowGroupWithoutRows_isPassedOver() throws IOException {
    reading.write(2500, writer -> writer);
    SampleFile.rewriteFooter(
        reading.file,
        footer -> {
          RowGroup empty = new RowGroup(footer.getRow_groups().get(1));
          empty.setNum_rows(0);
          empty.setTotal_compressed_size(0);
          empty.setTotal_byte_size(0);
          for (ColumnChunk chunk : empty.getColumns()) {
            chunk.getMeta_data().setNum_values(0);
            chunk.getMeta_data().setTotal_compressed_size(0);
            chunk.getMeta_data().setTotal_uncompressed_size(0);
          }
          footer.getRow_groups().add(1, empty);
        });
    reading.assertSame();
    assertEquals(3 * COLUMNS, reading.counters.chunksMissed());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  @Test
  void rangeOfNothing_isAnsweredWithNothing() throws Exception {
    reading.write(1000, writer -> writer);
    CachedParquetFile file = reading.lookUp();
    reading.fs.resetCounts();
    long start = file.footer().getBlocks().get(0).getStartingPos();
    ParquetFileRange nothing = new ParquetFileRange(start, 0);
    try (SeekableInputStream stream = file.newStream()) {
      stream.readVectored(List.of(nothing), HeapByteBufferAllocator.getInstance());
      ByteBuffer buffer = nothing.getDataReadFuture().get(1, TimeUnit.SECONDS);
      assertEquals(0, buffer.remaining());
    }
    assertEquals(0, reading.fs.opened.get());
    assertEquals(0, reading.counters.chunksHit() + reading.counters.chunksBypassed());
  }

  @Test
  void rangeOverSeveralChunks_isReadAround() throws Exception {
    reading.write(1000, writer -> writer);
    CachedParquetFile file = reading.lookUp();
    BlockMetaData rowGroup = file.footer().getBlocks().get(0);
    int length = Math.toIntExact(rowGroup.getCompressedSize());
    ParquetFileRange all = new ParquetFileRange(rowGroup.getStartingPos(), length);
    byte[] expected = new byte[length];
    try (SeekableInputStream stream = file.newStream();
        SeekableInputStream plain = file.newStreamOfFile()) {
      plain.seek(rowGroup.getStartingPos());
      plain.readFully(expected);
      stream.readVectored(List.of(all), HeapByteBufferAllocator.getInstance());
      assertEquals(ByteBuffer.wrap(expected), all.getDataReadFuture().get(1, TimeUnit.SECONDS));
      assertEquals(rowGroup.getStartingPos() + length, stream.getPos());
    }
    assertEquals(0, reading.cache.poolStats().chunks());
  }

  /** Reading on where another kind of read stopped is what Parquet does with some old files. */
  @Test
  void sequentialReads_giveTheBytesOfTheFile_whateverIsHeld() throws IOException {
    reading.write(1500, writer -> writer.withBloomFilterEnabled("id", true));
    byte[] bytes = java.nio.file.Files.readAllBytes(reading.file);
    Random random = new Random(5);
    for (int i = 0; i < 2; i++) {
      CachedParquetFile file = reading.lookUp();
      try (SeekableInputStream stream = file.newStream()) {
        for (int r = 0; r < 200; r++) {
          int at = random.nextInt(bytes.length);
          byte[] found = new byte[random.nextInt(Math.min(5000, bytes.length - at))];
          stream.seek(at);
          stream.readFully(found);
          assertEquals(ByteBuffer.wrap(bytes, at, found.length).slice(), ByteBuffer.wrap(found));
          assertEquals(at + found.length, stream.getPos());
          if (at + found.length < bytes.length) {
            assertEquals(bytes[at + found.length] & 0xff, stream.read());
          }
        }
        stream.seek(bytes.length);
        assertEquals(-1, stream.read());
        assertEquals(-1, stream.read(new byte[3]));
        stream.seek(bytes.length - 2);
        assertThrows(IOException.class, () -> stream.readFully(new byte[3]));
      }
      reading.assertSame();
    }
  }

  @Test
  void wideTable_isReadRight() throws IOException {
    int columns = 400;
    StringBuilder text = new StringBuilder("message wide {");
    for (int c = 0; c < columns; c++) {
      text.append("optional int32 c").append(c).append(';');
    }
    MessageType schema = MessageTypeParser.parseMessageType(text.append('}').toString());
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(reading.path)
            .withConf(reading.conf)
            .withType(schema)
            .withRowGroupRowCountLimit(20)
            .build()) {
      for (int i = 0; i < 40; i++) {
        Group row = new SimpleGroup(schema);
        for (int c = i % 3; c < columns; c += 1 + i % 5) {
          row.add("c" + c, i * columns + c);
        }
        writer.write(row);
      }
    }
    reading.fs.resetCounts();
    reading.assertSame(ReadingFixture.AS_IT_IS, schema);
    assertEquals(2 * columns, reading.counters.chunksMissed());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, schema);
    MessageType few =
        MessageTypeParser.parseMessageType("message m { optional int32 c399; optional int32 c3; }");
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, few);
    assertEquals(4, reading.counters.chunksHit());
  }

  private static FileEncryptionProperties.Builder encryption() {
    ColumnPath city = ColumnPath.get("city");
    byte[] columnKey = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    return FileEncryptionProperties.builder("fedcba9876543210".getBytes(StandardCharsets.US_ASCII))
        .withEncryptedColumns(
            Map.of(city, ColumnEncryptionProperties.builder(city).withKey(columnKey).build()));
  }

  @Test
  void fileWithEncryptedColumns_isKnownAsSuch_withoutKeys() throws IOException {
    reading.write(
        1000, writer -> writer.withEncryption(encryption().withPlaintextFooter().build()));
    for (int i = 0; i < 2; i++) {
      CachedParquetFile file = reading.lookUp();
      assertTrue(file.isEncrypted());
      assertThrows(IllegalStateException.class, () -> file.rowGroups(0, Long.MAX_VALUE));
    }
    assertEquals(1, reading.fs.opened.get());
  }

  @Test
  void fileWithEncryptedFooter_failsAsParquetDoes_withoutKeys() throws IOException {
    reading.write(1000, writer -> writer.withEncryption(encryption().build()));
    Throwable expected =
        assertThrows(
            ParquetCryptoRuntimeException.class,
            () -> reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA));
    Throwable found = assertThrows(ParquetCryptoRuntimeException.class, reading::lookUp);
    assertEquals(expected.getMessage(), found.getMessage());
  }

  @Test
  void ordinaryFile_isNotEncrypted() throws IOException {
    reading.write(10, writer -> writer);
    assertFalse(reading.lookUp().isEncrypted());
  }
}
