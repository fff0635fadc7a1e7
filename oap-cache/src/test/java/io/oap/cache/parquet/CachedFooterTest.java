package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.util.ArrayList;
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

/** What a footer tells of the layout of its file. */
class CachedFooterTest {
  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message m { required int32 a; optional group s { optional int64 x; optional int64 y; } }");

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
    return new CachedFooter(
        id(file), 0, new ParquetMetadata(metaData, blocks), new RowGroupMiddles(new byte[0]));
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

  @Test
  void layout_isThatOfTheFooter() {
    KnownFile file = footer(1, 2).describe(new FileIdentity("file:/f1", 5000, 7, ""));
    assertEquals("file:/f1", file.identity().path());
    assertEquals(List.of("a", "s", "s"), file.columns());
    assertArrayEquals(new long[] {4, 1004}, file.starts());
    assertArrayEquals(new int[] {1, 2, 0, 101, 102, 0}, file.chunkBytes());
  }
}
