package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.parquet.KnownFiles.KnownFile;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData.EncryptionType;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.PrimitiveType;
import org.junit.jupiter.api.Test;

/** What the known files tell of a layout, and which of them are forgotten. */
class KnownFilesTest {
  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message m { required int32 a; optional group s { optional int64 x; optional int64 y; } }");

  private final Set<FileId> held = new HashSet<>();
  private final KnownFiles files = new KnownFiles(() -> held, 3, 1 << 20);

  private static FileId id(int file) {
    return new FileId(file, -file);
  }

  /** Row groups of which column c of row group g has 100 g + c + 1 bytes; none has column y. */
  private static CachedFooter footer(int file, int rowGroups) {
    List<BlockMetaData> blocks = new ArrayList<>();
    for (int g = 0; g < rowGroups; g++) {
      BlockMetaData block = new BlockMetaData();
      for (int c = 0; c < 2; c++) {
        block.addColumn(chunk(c, 4 + 1000L * g + 400 * c, 100 * g + c + 1));
      }
      blocks.add(block);
    }
    FileMetaData metaData =
        new FileMetaData(SCHEMA, Map.of(), "test", EncryptionType.UNENCRYPTED, null);
    return new CachedFooter(id(file), new ParquetMetadata(metaData, blocks));
  }

  private static ColumnChunkMetaData chunk(int column, long start, long bytes) {
    PrimitiveType type = SCHEMA.getColumns().get(column).getPrimitiveType();
    return ColumnChunkMetaData.get(
        ColumnPath.get(SCHEMA.getColumns().get(column).getPath()),
        type,
        CompressionCodecName.SNAPPY,
        null,
        Set.of(),
        Statistics.createStats(type),
        start,
        0,
        1,
        bytes,
        bytes);
  }

  private void add(int file) {
    add(files, file, 2);
  }

  private static void add(KnownFiles files, int file, int rowGroups) {
    files.add(id(file), new FileIdentity("file:/f" + file, 5000, 7, ""), footer(file, rowGroups));
  }

  @Test
  void layout_isThatOfTheFooter() {
    add(1);
    KnownFile file = files.get(id(1));
    assertEquals("file:/f1", file.identity().path());
    assertEquals(List.of("a", "s", "s"), file.columns());
    assertArrayEquals(new long[] {4, 1004}, file.starts());
    assertArrayEquals(new int[] {1, 2, 0, 101, 102, 0}, file.chunkBytes());
  }

  @Test
  void schema_ofManyFiles_isHeldOnce() {
    add(1);
    add(2);
    assertSame(files.get(id(1)).columns(), files.get(id(2)).columns());
  }

  @Test
  void filesWithoutChunks_areForgotten_whenThereAreTooMany() {
    held.addAll(Set.of(id(1), id(3)));
    for (int file = 1; file <= 3; file++) {
      add(file);
    }
    assertNotNull(files.get(id(2)));
    add(4);
    assertNotNull(files.get(id(1)));
    assertNull(files.get(id(2)));
    assertNotNull(files.get(id(3)));
    assertNotNull(files.get(id(4)), "its first chunk is still to come");
    add(2);
    assertNotNull(files.get(id(2)));
  }

  @Test
  void largeFilesWithoutChunks_areForgotten_whenTheyAreTooMuch() {
    KnownFiles few = new KnownFiles(() -> held, 1000, 100_000);
    held.add(id(1));
    for (int file = 1; file <= 50; file++) {
      add(few, file, 500);
      assertNotNull(few.get(id(file)));
      assertTrue(few.where(known -> true).size() <= 10, "each has more than ten thousand bytes");
    }
    assertNotNull(few.get(id(1)));
  }

  @Test
  void manyFilesAreKnown_onlyWhileManyHaveChunks() {
    for (int file = 1; file <= 10; file++) {
      held.add(id(file));
      add(file);
    }
    assertEquals(10, files.where(known -> true).size());
    held.clear();
    for (int file = 11; file <= 35; file++) {
      add(file);
    }
    assertTrue(files.where(known -> true).size() <= 3);
  }
}
