package io.oap.cache.orc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.HadoopFileSource;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stream.CachedFileStream;
import io.oap.cache.stream.CachedInputStream;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.apache.orc.CompressionKind;
import org.apache.orc.OrcConf;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** ORC files read through the cache by ORC's own reader, which knows nothing of it. */
class OrcLayoutTest {
  private static final TypeDescription SCHEMA =
      TypeDescription.fromString("struct<id:bigint,city:string,tags:array<int>>");

  private final Configuration conf = new Configuration();
  private ColumnCache cache = ColumnCache.open(Map.of("spark.oap.pool.size", "16m")::get);
  private CacheCounters counters = new CacheCounters();
  private int rangesRead;
  @TempDir java.nio.file.Path directory;

  private java.nio.file.Path file() {
    return directory.resolve("sample.orc");
  }

  private Path path() {
    return new Path(file().toUri());
  }

  @AfterEach
  void nothingIsLeftBehind() {
    assertEquals(0, cache.poolStats().pinnedChunks());
    cache.close();
  }

  /** Stripes of some ten thousand rows; the id ascends. */
  private void write(CompressionKind codec, int rows) throws IOException {
    OrcFile.WriterOptions options =
        OrcFile.writerOptions(conf)
            .setSchema(SCHEMA)
            .compress(codec)
            .bufferSize(16 << 10)
            .stripeSize(100_000)
            .rowIndexStride(1000)
            .bloomFilterColumns("city")
            .overwrite(true);
    Random random = new Random(codec.ordinal());
    try (Writer writer = OrcFile.createWriter(path(), options)) {
      VectorizedRowBatch batch = SCHEMA.createRowBatch();
      for (int row = 0; row < rows; row++) {
        addRow(batch, row, random);
        if (batch.size == batch.getMaxSize()) {
          writer.addRowBatch(batch);
          batch.reset();
        }
      }
      writer.addRowBatch(batch);
    }
  }

  private static void addRow(VectorizedRowBatch batch, int row, Random random) {
    int at = batch.size++;
    ((LongColumnVector) batch.cols[0]).vector[at] = row;
    byte[] city = ("city-" + random.nextInt(3000)).getBytes(StandardCharsets.UTF_8);
    ((BytesColumnVector) batch.cols[1]).setVal(at, city);
    ListColumnVector tags = (ListColumnVector) batch.cols[2];
    tags.offsets[at] = tags.childCount;
    tags.lengths[at] = random.nextInt(4);
    tags.childCount += (int) tags.lengths[at];
    tags.child.ensureSize(tags.childCount, true);
    for (int i = 0; i < tags.lengths[at]; i++) {
      ((LongColumnVector) tags.child).vector[(int) tags.offsets[at] + i] = random.nextInt();
    }
  }

  private CachedFileStream stream() throws IOException {
    FileSource file = new HadoopFileSource(path(), conf);
    FileSource counted =
        new FileSource() {
          @Override
          public FileIdentity identity() {
            return file.identity();
          }

          @Override
          public FileStream open() {
            return counting(file.open());
          }
        };
    return new CachedFileStream(counted, OrcLayout.READER, cache, new ReadContext(counters));
  }

  private FileStream counting(FileStream file) {
    return new FileStream() {
      @Override
      public List<ByteBuffer> read(List<Range> ranges) throws IOException {
        rangesRead += ranges.size();
        return file.read(ranges);
      }

      @Override
      public int read(long position, ByteBuffer into) throws IOException {
        rangesRead++;
        return file.read(position, into);
      }

      @Override
      public void close() throws IOException {
        file.close();
      }
    };
  }

  /** The local file system, with every file read through the cache. */
  private final class CachedLocalFiles extends RawLocalFileSystem {
    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
      return new FSDataInputStream(new CachedInputStream(stream()));
    }
  }

  private List<String> rows(boolean isCached, Reader.Options options) throws IOException {
    OrcFile.ReaderOptions opened = OrcFile.readerOptions(conf);
    RawLocalFileSystem fs = isCached ? new CachedLocalFiles() : new RawLocalFileSystem();
    fs.initialize(java.net.URI.create("file:///"), conf);
    List<String> rows = new ArrayList<>();
    try (Reader reader = OrcFile.createReader(path(), opened.filesystem(fs));
        RecordReader records = reader.rows(options)) {
      VectorizedRowBatch batch = SCHEMA.createRowBatch();
      while (records.nextBatch(batch)) {
        rows.add(batch.toString());
      }
    }
    return rows;
  }

  private static Reader.Options all() {
    return new Reader.Options();
  }

  /** One column, by row index and bloom filter. */
  private static Reader.Options some() {
    return new Reader.Options()
        .include(new boolean[] {true, true, true, false, false})
        .searchArgument(
            SearchArgumentFactory.newBuilder()
                .startAnd()
                .lessThan("id", PredicateLeaf.Type.LONG, 23_500L)
                .equals("city", PredicateLeaf.Type.STRING, "city-77")
                .end()
                .build(),
            new String[] {"", "id", "city", "tags", ""});
  }

  private void assertSame(Reader.Options options, Reader.Options again) throws IOException {
    counters = new CacheCounters();
    List<String> expected = rows(false, options);
    assertTrue(expected.size() > 0);
    assertEquals(expected, rows(true, again));
  }

  @ParameterizedTest
  @EnumSource(
      value = CompressionKind.class,
      names = {"NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD"})
  void rows_areThoseOfOrcAlone_andTheSecondTimeNothingIsReadOfTheFile(CompressionKind codec)
      throws IOException {
    write(codec, 50_000);
    assertSame(all(), all());
    assertTrue(counters.chunksMissed() > 2 * 3, "several stripes");
    assertSame(all(), all());
    assertEquals(0, counters.bytesFromFile());
    assertEquals(0, counters.chunksMissed() + counters.chunksBypassed());
    assertSame(some(), some());
  }

  @Test
  void someRows_areReadByIndexAndBloomFilter_andTheThirdTimeNothingIsReadOfTheFile()
      throws IOException {
    write(CompressionKind.ZLIB, 50_000);
    assertSame(some(), some());
    assertTrue(counters.bytesFromFile() > 0);
    assertSame(some(), some());
    assertSame(some(), some());
    assertEquals(0, counters.bytesFromFile());
  }

  @Test
  void anyByte_isThatOfTheFile_andColumnsAreKnownByName() throws IOException {
    write(CompressionKind.ZLIB, 20_000);
    byte[] expected = Files.readAllBytes(file());
    for (int round = 0; round < 2; round++) {
      byte[] found = new byte[expected.length];
      try (CachedFileStream stream = stream()) {
        for (int at = 0; at < found.length; at++) {
          stream.readFully(at, ByteBuffer.wrap(found, at, 1));
        }
      }
      assertArrayEquals(expected, found);
    }
    KnownFile known = cache.files().where(file -> true).values().iterator().next();
    assertEquals(List.of("", "id", "city", "tags", "tags"), known.columns());
  }

  @Test
  void fileOfManyStripes_isReadAround_whereItsLayoutWouldNotStay() throws IOException {
    cache.close();
    cache =
        ColumnCache.open(
            Map.of("spark.oap.pool.size", "16m", "spark.oap.cache.footerSize", "1m")::get);
    OrcConf.STRIPE_ROW_COUNT.setLong(conf, 1000);
    write(CompressionKind.NONE, 250_000);
    try (Reader reader = OrcFile.createReader(path(), OrcFile.readerOptions(conf))) {
      assertTrue(reader.getStripes().size() > 200);
    }
    assertSame(all().range(0, 100), all().range(0, 100));
    assertTrue(rangesRead < 50, rangesRead + " ranges");
    assertEquals(0, cache.poolStats().usedBytes());
  }

  @Test
  void emptyFile_andFilesThatAreNone_areReadAround() throws IOException {
    write(CompressionKind.ZSTD, 0);
    assertEquals(rows(false, all()), rows(true, all()));
    for (byte[] bytes : new byte[][] {new byte[1], new byte[300], "ORC no".getBytes("US-ASCII")}) {
      Files.deleteIfExists(directory.resolve(".sample.orc.crc"));
      Files.write(file(), bytes);
      ByteBuffer found = ByteBuffer.allocate(bytes.length);
      try (CachedFileStream stream = stream()) {
        stream.readFully(0, found);
      }
      assertArrayEquals(bytes, found.array());
    }
    assertEquals(0, cache.poolStats().usedBytes());
  }
}
