package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that change, disappear or break: never the rows of another version, and honest errors. */
class CachedParquetVersionTest {
  private static final FileTime THEN = FileTime.fromMillis(1_700_000_000_000L);

  @TempDir Path directory;
  private ReadingFixture reading;
  private Path other;

  /** Two files of different rows and equal length, the first of them in place. */
  @BeforeEach
  void open() throws IOException {
    reading = new ReadingFixture(directory, "16m");
    reading.write(2000, writer -> writer);
    Path first = Files.copy(reading.file, directory.resolve("first"));
    other = directory.resolve("other");
    SampleFile.write(
        new org.apache.hadoop.fs.Path("watched://" + other),
        reading.conf,
        2000,
        2,
        writer -> writer.withCompressionCodec(CompressionCodecName.GZIP));
    padTo(Math.max(Files.size(first), Files.size(other)), first, other);
    Files.move(first, reading.file, StandardCopyOption.REPLACE_EXISTING);
    Files.setLastModifiedTime(reading.file, THEN);
    reading.fs.resetCounts();
  }

  @AfterEach
  void nothingIsLeftBehind() {
    reading.close();
  }

  /** Makes files equally long by what their footers say of their writer. */
  private static void padTo(long length, Path... files) throws IOException {
    for (Path file : files) {
      long characters = 1;
      for (int i = 0; i < 5 && Files.size(file) != length + 1000; i++) {
        characters += i == 0 ? 0 : length + 1000 - Files.size(file);
        String creator = "p".repeat((int) characters);
        SampleFile.rewriteFooter(file, footer -> footer.setCreated_by(creator));
      }
      assertEquals(length + 1000, Files.size(file));
    }
  }

  private void replace(FileTime time) throws IOException {
    Files.copy(other, reading.file, StandardCopyOption.REPLACE_EXISTING);
    Files.setLastModifiedTime(reading.file, time);
  }

  private List<String> plainRows() throws IOException {
    return reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  private List<String> cachedRows() throws IOException {
    return reading.cached(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  @Test
  void fileOfTheSameLengthButAnotherTime_isAnotherFile() throws IOException {
    List<String> before = cachedRows();
    long length = Files.size(reading.file);
    replace(FileTime.fromMillis(THEN.toMillis() + 1));
    assertEquals(length, Files.size(reading.file));
    assertNotEquals(before, plainRows());
    assertEquals(plainRows(), cachedRows());
    assertEquals(0, reading.counters.chunksHit());
  }

  @Test
  void fileOfTheSameTimeButAnotherLength_isAnotherFile() throws IOException {
    List<String> before = cachedRows();
    SampleFile.rewriteFooter(other, footer -> footer.setCreated_by("another writer"));
    replace(THEN);
    assertNotEquals(before, plainRows());
    assertEquals(plainRows(), cachedRows());
    assertEquals(0, reading.counters.chunksHit());
  }

  @Test
  void fileOfAnotherVersionTag_isAnotherFile() throws IOException {
    reading.fs.etag = "v1";
    List<String> before = cachedRows();
    assertEquals("v1", reading.lookUp().identity().etag());
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
    replace(THEN);
    reading.fs.etag = "v2";
    assertNotEquals(before, plainRows());
    assertEquals(plainRows(), cachedRows());
    assertEquals(0, reading.counters.chunksHit());
  }

  @Test
  void storeWithVersionTags_isAskedForTheStatusOnce() throws IOException {
    reading.fs.etag = "v1";
    cachedRows();
    assertEquals(1, reading.fs.statuses.get());
  }

  /** Once to look it up, once as it is opened, once after it was read: it is small. */
  @Test
  void otherStore_isAskedForTheStatusAgain_onlyWhereTheFileIsRead() throws IOException {
    cachedRows();
    assertEquals(3, reading.fs.statuses.get());
    reading.fs.resetCounts();
    cachedRows();
    assertEquals(1, reading.fs.statuses.get());
  }

  @Test
  void fileThatComesBack_isServedFromThePool() throws IOException {
    cachedRows();
    Path first = Files.copy(reading.file, directory.resolve("first"));
    replace(FileTime.fromMillis(THEN.toMillis() + 1));
    cachedRows();
    Files.move(first, reading.file, StandardCopyOption.REPLACE_EXISTING);
    Files.setLastModifiedTime(reading.file, THEN);
    reading.assertSameWithoutTheFile(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA);
  }

  /** The file, whose chunks are read when they are asked for, as its footer was known. */
  private CachedParquetFile known() throws IOException {
    reading.lookUp();
    return reading.lookUp();
  }

  private void replaceBeforeOpening() {
    reading.fs.beforeOpen =
        () -> {
          reading.fs.beforeOpen = () -> {};
          replace(FileTime.fromMillis(THEN.toMillis() + 1));
        };
  }

  private void assertNextReadIsRight() throws IOException {
    assertEquals(0, reading.cache.poolStats().publishes());
    reading.fs.beforeOpen = () -> {};
    assertEquals(plainRows(), cachedRows());
    assertEquals(plainRows(), cachedRows());
  }

  @Test
  void fileReplacedBeforeItsFooterIsRead_isNotMixedUp() throws IOException {
    replaceBeforeOpening();
    IOException e = assertThrows(IOException.class, this::cachedRows);
    assertTrue(e.getMessage().contains("was replaced"), e.getMessage());
    assertTrue(e.getMessage().contains(reading.path.toString()), e.getMessage());
    assertEquals(0, reading.cache.footers().size());
    assertNextReadIsRight();
  }

  @Test
  void fileReplacedBetweenFooterAndChunks_isNotMixedUp() throws IOException {
    CachedParquetFile file = known();
    replaceBeforeOpening();
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      IOException e = assertThrows(IOException.class, reader::readNextRowGroup);
      assertTrue(e.getMessage().contains("was replaced"), e.getMessage());
      assertThrows(IOException.class, reader::readNextRowGroup, "the second try is no better");
    }
    assertNextReadIsRight();
  }

  @Test
  void smallFileReplacedAfterItsFooterIsRead_isReadAsItWas() throws IOException {
    List<String> before = plainRows();
    CachedParquetFile file = reading.lookUp();
    replace(FileTime.fromMillis(THEN.toMillis() + 1));
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(before, ReadingFixture.rows(reader, SampleFile.SCHEMA));
    }
    assertNotEquals(before, plainRows());
    assertEquals(plainRows(), cachedRows());
  }

  @Test
  void fileOverwrittenInPlaceBetweenItsRowGroups_isNotMixedUp() throws IOException {
    CachedParquetFile file = known();
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(1000, reader.readNextRowGroup().getRowCount());
      long publishes = reading.cache.poolStats().publishes();
      Files.write(reading.file, Files.readAllBytes(other));
      Files.setLastModifiedTime(reading.file, FileTime.fromMillis(THEN.toMillis() + 1));
      IOException e = assertThrows(IOException.class, reader::readNextRowGroup);
      assertTrue(e.getMessage().contains("was replaced"), e.getMessage());
      assertEquals(publishes, reading.cache.poolStats().publishes());
    }
    assertEquals(plainRows(), cachedRows());
  }

  /** Where it can still be read, as on a local disk. */
  @Test
  void fileDeletedBetweenItsRowGroups_isReadOn() throws IOException {
    List<String> before = plainRows();
    CachedParquetFile file = known();
    reading.fs.resetCounts();
    reading.fs.beforeRead =
        () -> {
          reading.fs.beforeRead = () -> {};
          Files.delete(reading.file);
        };
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(before, ReadingFixture.rows(reader, SampleFile.SCHEMA));
    }
  }

  /** Parquet logs a page index that it cannot read, and goes on to the columns. */
  @Test
  void fileReplacedBeforeItsPageIndexIsRead_isNotMixedUp() throws IOException {
    CachedParquetFile file = known();
    replaceBeforeOpening();
    ReadingFixture.Settings filtered =
        options ->
            options.withRecordFilter(
                FilterCompat.get(FilterApi.eq(FilterApi.longColumn("id"), 20L)));
    try (ParquetFileReader reader = reading.open(file, filtered)) {
      assertEquals(1000, reader.getFilteredRecordCount(), "without the index no page is left out");
      assertThrows(IOException.class, reader::readNextFilteredRowGroup);
    }
    assertNextReadIsRight();
  }

  private void assertFailsAsParquetDoes() {
    Throwable expected = assertThrows(Throwable.class, this::plainRows);
    Throwable found = assertThrows(Throwable.class, this::cachedRows);
    assertSame(expected.getClass(), found.getClass());
    assertEquals(expected.getMessage(), found.getMessage());
  }

  @Test
  void deletedFile_isNotFound_thoughItsChunksAreHeld() throws IOException {
    cachedRows();
    Files.delete(reading.file);
    assertThrows(FileNotFoundException.class, this::cachedRows);
    assertFailsAsParquetDoes();
  }

  @Test
  void fileDeletedBeforeItIsOpened_isNotFound() throws IOException {
    reading.fs.beforeOpen = () -> Files.deleteIfExists(reading.file);
    assertThrows(FileNotFoundException.class, this::cachedRows);
  }

  @Test
  void fileDeletedBetweenFooterAndChunks_isNotFound() throws IOException {
    CachedParquetFile file = known();
    Files.delete(reading.file);
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertThrows(FileNotFoundException.class, reader::readNextRowGroup);
    }
  }

  private void overwrite(byte[] bytes) throws IOException {
    Files.write(reading.file, bytes);
    reading.fs.resetCounts();
  }

  @Test
  void truncatedFile_failsAsParquetDoes() throws IOException {
    byte[] bytes = Files.readAllBytes(reading.file);
    overwrite(Arrays.copyOf(bytes, bytes.length / 2));
    assertFailsAsParquetDoes();
    overwrite(Arrays.copyOf(bytes, 9));
    assertFailsAsParquetDoes();
    overwrite(new byte[0]);
    assertFailsAsParquetDoes();
  }

  @Test
  void fileThatIsNotParquet_failsAsParquetDoes_eachTime() throws IOException {
    overwrite("a text file, which is long enough to have had a footer\n".getBytes());
    assertFailsAsParquetDoes();
    assertFailsAsParquetDoes();
    assertEquals(0, reading.cache.footers().size());
  }

  @Test
  void footerThatIsGarbage_failsAsParquetDoes() throws IOException {
    byte[] bytes = Files.readAllBytes(reading.file);
    Arrays.fill(bytes, bytes.length - 200, bytes.length - 8, (byte) 0x7f);
    overwrite(bytes);
    assertFailsAsParquetDoes();
  }

  @Test
  void fileCutOffInTheMiddle_withItsFooterMovedUp_failsAndPublishesNothing() throws IOException {
    // The chunks of the last row group reach behind the end of the file.
    SampleFile.rewriteFooter(
        reading.file,
        footer ->
            footer
                .getRow_groups()
                .get(1)
                .getColumns()
                .forEach(
                    c -> {
                      c.getMeta_data().unsetDictionary_page_offset();
                      c.getMeta_data().setData_page_offset(1L << 30);
                    }));
    reading.fs.resetCounts();
    assertThrows(IOException.class, this::plainRows);
    assertThrows(IOException.class, this::cachedRows);
    assertEquals(SampleFile.SCHEMA.getColumns().size(), reading.cache.poolStats().publishes());
  }

  @Test
  void readError_comesOutAsTheFileSystemSaidIt_andLeavesNothing() throws IOException {
    IOException failure = new IOException("disk");
    CachedParquetFile file = known();
    try (ParquetFileReader reader = reading.open(file, ReadingFixture.AS_IT_IS)) {
      assertEquals(1000, reader.readNextRowGroup().getRowCount());
      long publishes = reading.cache.poolStats().publishes();
      reading.fs.beforeRead =
          () -> {
            throw failure;
          };
      assertSame(failure, assertThrows(IOException.class, reader::readNextRowGroup));
      assertEquals(publishes, reading.cache.poolStats().publishes());
      assertEquals(0, reading.cache.poolStats().pinnedChunks());
      reading.fs.beforeRead = () -> {};
    }
    assertEquals(plainRows(), cachedRows());
  }
}
