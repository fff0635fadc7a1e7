package io.oap.cache.parquet;

import static org.apache.parquet.filter2.predicate.FilterApi.and;
import static org.apache.parquet.filter2.predicate.FilterApi.binaryColumn;
import static org.apache.parquet.filter2.predicate.FilterApi.eq;
import static org.apache.parquet.filter2.predicate.FilterApi.gtEq;
import static org.apache.parquet.filter2.predicate.FilterApi.longColumn;
import static org.apache.parquet.filter2.predicate.FilterApi.lt;
import static org.apache.parquet.filter2.predicate.FilterApi.or;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.quota.QuotaRule;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of which filters leave only some row groups or some pages to read. */
class CachedParquetFilterTest {
  private static final int COLUMNS = SampleFile.SCHEMA.getColumns().size();

  private static final MessageType LARGE =
      MessageTypeParser.parseMessageType(
          "message m { required int64 id; optional binary text (STRING); }");

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

  /** Three row groups of ten pages a column each; pages are large enough to tell them apart. */
  private void writeThreeRowGroups(SampleFile.Settings settings) throws IOException {
    reading.write(
        3000, writer -> settings.apply(writer.withCompressionCodec(CompressionCodecName.GZIP)));
  }

  private static ReadingFixture.Settings where(FilterPredicate predicate) {
    return options -> options.withRecordFilter(FilterCompat.get(predicate));
  }

  /** Rows {@code from} to {@code to}: whole pages, as each has a hundred. */
  private static ReadingFixture.Settings rows(long from, long to) {
    return where(and(gtEq(longColumn("id"), 2 * from), lt(longColumn("id"), 2 * to)));
  }

  private static ReadingFixture.Settings city(int number) {
    return where(eq(binaryColumn("city"), Binary.fromString(SampleFile.city(number))));
  }

  private void assertSame(ReadingFixture.Settings settings) throws IOException {
    reading.assertSame(settings, SampleFile.SCHEMA);
  }

  private void assertSameWithoutTheFile(ReadingFixture.Settings settings) throws IOException {
    reading.assertSameWithoutTheFile(settings, SampleFile.SCHEMA);
  }

  private int rowsOf(ReadingFixture.Settings settings) throws IOException {
    return reading.plain(settings, SampleFile.SCHEMA).size();
  }

  /** One row group of forty pages a column; the two columns below are more than 256 KiB each. */
  private void writeLargeChunks() throws IOException {
    reading.write(
        40_000,
        writer ->
            writer
                .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
                .withDictionaryEncoding(false)
                .withRowGroupRowCountLimit(40_000)
                .withPageRowCountLimit(1000));
  }

  @Test
  void fewPagesOfLargeChunks_areReadAroundOnce_thenTheChunksAreLoaded() throws IOException {
    writeLargeChunks();
    ReadingFixture.Settings few = rows(12_000, 13_000);
    reading.assertSame(few, LARGE);
    assertEquals(2, reading.counters.chunksBypassed());
    assertEquals(0, reading.counters.chunksMissed() + reading.counters.chunksHit());
    assertEquals(0, reading.cache.poolStats().chunks());
    assertTrue(reading.counters.bytesFromFile() < 200_000);
    reading.assertSame(few, LARGE);
    assertEquals(2, reading.counters.chunksMissed());
    assertEquals(0, reading.counters.chunksBypassed());
    reading.assertSameWithoutTheFile(few, LARGE);
    assertEquals(2, reading.counters.chunksHit());
  }

  /** Reads few pages again and again, where their chunks cannot enter the pool. */
  private void assertReadInPartOnly() throws IOException {
    ReadingFixture.Settings few = rows(12_000, 13_000);
    for (int run = 0; run < 3; run++) {
      reading.assertSame(few, LARGE);
      assertTrue(reading.counters.bytesFromFile() < 200_000, "run " + run);
      assertEquals(2, reading.counters.chunksBypassed());
    }
    assertEquals(0, reading.cache.poolStats().chunks());
  }

  @Test
  void fewPagesOfLargeChunks_thatTheirQuotaRefuses_areReadAround() throws IOException {
    writeLargeChunks();
    String folder = "watched:" + directory;
    reading.cache.limit(
        List.of(
            new QuotaRule(
                QuotaRule.Kind.QUOTA, folder, List.of(folder), PoolShare.parse("64k"), 1)));
    assertReadInPartOnly();
    assertNull(reading.cache.chunks().fault());
    reading.cache.limit(
        List.of(
            new QuotaRule(
                QuotaRule.Kind.QUOTA, folder, List.of(folder), PoolShare.parse("8m"), 2)));
    reading.assertSame(rows(12_000, 13_000), LARGE);
    assertEquals(2, reading.counters.chunksMissed(), "loaded, now that there is room");
  }

  @Test
  void fewPagesOfLargeChunks_whereThePoolHasFailed_areReadAround() throws IOException {
    writeLargeChunks();
    reading.cache.chunks().switchOff(new IllegalStateException("a fault"));
    assertReadInPartOnly();
    reading.cache.close();
    reading = new ReadingFixture(directory, "1m");
  }

  @Test
  void mostPagesOfLargeChunks_loadThemWhole() throws IOException {
    writeLargeChunks();
    ReadingFixture.Settings most = rows(10_000, 35_000);
    reading.assertSame(most, LARGE);
    assertEquals(2, reading.counters.chunksMissed());
    assertEquals(0, reading.counters.chunksBypassed());
    reading.assertSameWithoutTheFile(most, LARGE);
  }

  @Test
  void fewPagesOfSmallChunks_loadThemWhole() throws IOException {
    writeThreeRowGroups(writer -> writer);
    ReadingFixture.Settings few = rows(1200, 1300);
    assertEquals(100, rowsOf(few));
    assertSame(few);
    assertEquals(COLUMNS, reading.counters.chunksMissed());
    assertEquals(0, reading.counters.chunksBypassed());
    assertSameWithoutTheFile(few);
    reading.assertSame();
    assertEquals(COLUMNS, reading.counters.chunksHit());
    assertEquals(2 * COLUMNS, reading.counters.chunksMissed());
  }

  @Test
  void fewPagesOfHeldChunks_areSlicesOfThem() throws IOException {
    writeThreeRowGroups(writer -> writer);
    reading.assertSame();
    ReadingFixture.Settings few = rows(1200, 1300);
    assertSame(few);
    assertEquals(COLUMNS, reading.counters.chunksHit());
    assertEquals(0, reading.counters.chunksMissed() + reading.counters.chunksBypassed());
    assertSameWithoutTheFile(few);
    long ofRowGroup = reading.lookUp().footer().getBlocks().get(1).getCompressedSize();
    assertSame(few);
    assertTrue(reading.counters.bytesFromPool() < ofRowGroup / 3, "only what was wanted counts");
  }

  @Test
  void scatteredPagesOfHeldChunks_areSlicesOfThem() throws IOException {
    writeThreeRowGroups(writer -> writer);
    reading.assertSame();
    ReadingFixture.Settings scattered =
        where(or(eq(longColumn("id"), 2L * 2150), eq(longColumn("id"), 2L * 2750)));
    assertEquals(200, rowsOf(scattered));
    assertSame(scattered);
    assertEquals(COLUMNS, reading.counters.chunksHit());
    assertSameWithoutTheFile(scattered);
  }

  @Test
  void rowGroupsLeftOutByStatistics_areNotLoaded() throws IOException {
    writeThreeRowGroups(writer -> writer);
    assertSame(rows(1000, 2000));
    assertEquals(COLUMNS, reading.counters.chunksMissed());
    assertSame(rows(7000, 8000));
    assertEquals(0, reading.counters.bytesFromFile());
  }

  @Test
  void dictionaries_leaveOutRowGroups_withoutTheFileTheSecondTime() throws IOException {
    writeThreeRowGroups(writer -> writer.withDictionaryEncoding(true));
    ReadingFixture.Settings absent =
        options -> city(5).apply(options).useColumnIndexFilter(false).useBloomFilter(false);
    assertEquals(0, rowsOf(absent));
    assertNotEquals(
        0,
        rowsOf(options -> absent.apply(options).useDictionaryFilter(false)),
        "not by statistics");
    assertSame(absent);
    assertEquals(0, reading.cache.poolStats().chunks());
    assertSameWithoutTheFile(absent);
    ReadingFixture.Settings present =
        options -> city(4).apply(options).useColumnIndexFilter(false).useBloomFilter(false);
    assertEquals(3000, rowsOf(present));
    assertSame(present);
    assertSameWithoutTheFile(present);
  }

  @Test
  void dictionariesOfHeldChunks_areReadFromThePool() throws IOException {
    writeThreeRowGroups(writer -> writer.withDictionaryEncoding(true));
    reading.assertSame();
    assertSameWithoutTheFile(city(5));
  }

  @Test
  void bloomFilters_leaveOutRowGroups_withoutTheFileTheSecondTime() throws IOException {
    writeThreeRowGroups(
        writer ->
            writer
                .withDictionaryEncoding(false)
                .withBloomFilterEnabled("id", true)
                .withBloomFilterNDV("id", 1000));
    // Odd, and so in no row, but within min and max of the second row group.
    ReadingFixture.Settings absent =
        options -> where(eq(longColumn("id"), 2501L)).apply(options).useColumnIndexFilter(false);
    assertEquals(0, rowsOf(absent));
    assertEquals(1000, rowsOf(options -> absent.apply(options).useBloomFilter(false)));
    assertSame(absent);
    assertEquals(0, reading.cache.poolStats().chunks());
    assertSameWithoutTheFile(absent);
  }

  @Test
  void bloomFiltersWhoseLengthTheFooterLeavesOut_areReadRight() throws IOException {
    writeThreeRowGroups(
        writer -> writer.withDictionaryEncoding(false).withBloomFilterEnabled("id", true));
    SampleFile.rewriteFooter(
        reading.file,
        footer ->
            footer
                .getRow_groups()
                .forEach(
                    rowGroup ->
                        rowGroup
                            .getColumns()
                            .forEach(c -> c.getMeta_data().unsetBloom_filter_length())));
    ReadingFixture.Settings absent =
        options -> where(eq(longColumn("id"), 2501L)).apply(options).useColumnIndexFilter(false);
    assertEquals(0, rowsOf(absent));
    assertSame(absent);
    assertSame(absent);
  }

  @Test
  void pageIndexes_areReadAsOneRun() throws IOException {
    writeThreeRowGroups(writer -> writer);
    reading.lookUp();
    reading.fs.resetCounts();
    CachedParquetFile file = reading.lookUp();
    try (ParquetFileReader reader = reading.open(file, rows(1200, 1300))) {
      reader.setRequestedSchema(SampleFile.SCHEMA);
      long[] reads = {0};
      reading.fs.beforeRead = () -> reads[0]++;
      assertEquals(100, reader.getFilteredRecordCount());
      reading.fs.beforeRead = () -> {};
      assertEquals(2, reads[0], "one for column indexes, one for offset indexes");
    }
  }

  @Test
  void runsOfFilters_agreeWithParquet_whateverIsHeld() throws IOException {
    writeThreeRowGroups(writer -> writer.withBloomFilterEnabled(true));
    List<ReadingFixture.Settings> all =
        List.of(
            rows(100, 200),
            rows(50, 950),
            rows(950, 1050),
            rows(1400, 3000),
            city(4),
            city(7),
            rows(0, 3000));
    for (int i = 0; i < 2; i++) {
      for (ReadingFixture.Settings settings : all) {
        assertSame(settings);
      }
    }
    for (ReadingFixture.Settings settings : all) {
      assertSameWithoutTheFile(settings);
    }
  }
}
