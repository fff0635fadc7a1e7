package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A split has the row groups that Parquet's own reader finds in it: another executor, which has no
 * pool, may read the next one by that.
 */
class RowGroupMiddlesTest {
  @TempDir Path directory;
  private ReadingFixture reading;

  @BeforeEach
  void write() throws IOException {
    reading = new ReadingFixture(directory, "16m");
    reading.write(3000, writer -> writer);
  }

  @AfterEach
  void nothingIsLeftBehind() {
    reading.close();
  }

  /** The first rows of the row groups that Parquet finds in a split. */
  private List<Long> parquets(long start, long end) throws IOException {
    ParquetReadOptions options = reading.options(builder -> builder.withRange(start, end));
    HadoopInputFile file = HadoopInputFile.fromPath(reading.path, reading.conf);
    try (ParquetFileReader reader = ParquetFileReader.open(file, options)) {
      return firstRows(reader.getRowGroups());
    }
  }

  private static List<Long> firstRows(List<BlockMetaData> rowGroups) {
    return rowGroups.stream().map(BlockMetaData::getRowIndexOffset).toList();
  }

  private void assertSameSplits(Consumer<RowGroup> change) throws IOException {
    SampleFile.rewriteFooter(reading.file, footer -> footer.getRow_groups().forEach(change));
    long length = Files.size(reading.file);
    CachedParquetFile file = reading.lookUp();
    int separating = 0;
    for (int cut = 1; cut < 100; cut++) {
      long at = length * cut / 100;
      List<Long> here = firstRows(ReadingFixture.rowGroups(file, 0, at));
      assertEquals(parquets(0, at), here, "before " + at);
      assertEquals(
          parquets(at, length),
          firstRows(ReadingFixture.rowGroups(file, at, length - at)),
          "from " + at);
      separating += here.isEmpty() || here.size() == 3 ? 0 : 1;
    }
    assertNotEquals(0, separating);
    assertEquals(3, file.rowGroups(0, length).size(), "no row is lost of a whole file");
  }

  @Test
  void splits_ofAFileAsItIsWritten_areParquets() throws IOException {
    assertSameSplits(rowGroup -> {});
  }

  @Test
  void splits_byTotalSizes_areParquets() throws IOException {
    assertSameSplits(
        rowGroup -> rowGroup.setTotal_compressed_size(2 * rowGroup.getTotal_compressed_size()));
    assertSameSplits(RowGroup::unsetTotal_compressed_size);
  }

  @Test
  void splits_ofAFileWithDictionariesAtZero_areParquets() throws IOException {
    assertSameSplits(
        rowGroup -> {
          if (rowGroup.getOrdinal() == 1) {
            rowGroup.getColumns().get(0).getMeta_data().setDictionary_page_offset(0);
          }
        });
  }
}
