package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.HeapRuns;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.LayoutReader;
import io.oap.cache.pool.PoolFaults;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stream.CachedFileStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whatever is read of a file in whatever way: its bytes, and no pin that stays. */
class CachedFileStreamTest {
  private final CacheCounters counters = new CacheCounters();
  private ColumnCache cache = cache("64m");
  private SyntheticSource source = source(1, ranges -> {}, 40, 30_000);

  private static ColumnCache cache(String size) {
    return ColumnCache.open(Map.of("spark.oap.pool.size", size)::get);
  }

  private static SyntheticSource source(
      long seed, SyntheticFile.Reading reading, int chunks, int mostBytes) {
    return new SyntheticSource(
        new SyntheticFile(seed, reading), new Random(seed), chunks, mostBytes);
  }

  @AfterEach
  void nothingIsLeftBehind() {
    assertEquals(source.opened.get(), source.closed.get(), "streams opened and closed");
    assertEquals(0, cache.poolStats().pinnedChunks());
    cache.close();
  }

  private CachedFileStream open() {
    return open((file, identity, mostBytes) -> source.layout());
  }

  private CachedFileStream open(LayoutReader layouts) {
    return new CachedFileStream(source, layouts, cache, new ReadContext(counters));
  }

  private long length() {
    return source.identity().length();
  }

  private void assertHolds(long offset, int length, ByteBuffer found) {
    assertEquals(length, found.remaining());
    for (int i = 0; i < length; i++) {
      assertEquals(source.file.byteAt(offset + i), found.get(found.position() + i), "at " + i);
    }
  }

  private void readAll(CachedFileStream stream) throws IOException {
    ByteBuffer all = ByteBuffer.allocate((int) length());
    stream.readFully(0, all);
    assertHolds(0, all.capacity(), all.flip());
  }

  @Test
  void wholeFile_inOneRange_isRightColdAndWarm_andWarmReadsTheGapsOnly() throws IOException {
    try (CachedFileStream stream = open()) {
      readAll(stream);
    }
    long chunkBytes = source.chunks.stream().mapToLong(ChunkRequest::length).sum();
    assertEquals(source.chunks.size(), counters.chunksMissed());
    assertEquals(0, counters.chunksHit());
    long cold = counters.bytesFromFile();
    assertEquals(length(), cold);
    try (CachedFileStream stream = open()) {
      readAll(stream);
    }
    assertEquals(source.chunks.size(), counters.chunksHit());
    assertEquals(chunkBytes, counters.bytesFromPool());
    assertTrue(counters.bytesFromFile() - cold < length() - chunkBytes);
  }

  @Test
  void readOfManyChunks_passesThroughTheHeapInRuns() throws IOException {
    source = source(3, ranges -> {}, 30, 6 << 20);
    assertTrue(length() > 2 * HeapRuns.MOST_BYTES);
    ByteBuffer all = ByteBuffer.allocate((int) length());
    try (CachedFileStream stream = open()) {
      stream.readFully(0, all);
    }
    for (int at = 0; at < all.capacity(); at += 997) {
      assertEquals(source.file.byteAt(at), all.get(at), "at " + at);
    }
    for (List<Range> read : source.file.reads) {
      long bytes = read.stream().mapToLong(Range::length).sum();
      assertTrue(bytes <= HeapRuns.MOST_BYTES, () -> bytes + " bytes at once");
    }
  }

  @Test
  void warmChunksAndFooter_askNothingOfTheFile() throws IOException {
    try (CachedFileStream stream = open()) {
      readAll(stream);
    }
    source.file.reads.clear();
    try (CachedFileStream stream = open()) {
      for (ChunkRequest chunk : source.chunks) {
        ByteBuffer bytes = ByteBuffer.allocate(chunk.length());
        stream.readFully(chunk.offset(), bytes);
        assertHolds(chunk.offset(), chunk.length(), bytes.flip());
      }
      ByteBuffer end = ByteBuffer.allocate(1);
      stream.readFully(length() - 1, end);
      assertHolds(length() - 1, 1, end.flip());
    }
    assertEquals(List.of(), source.file.reads);
  }

  @Test
  void damagedChunk_isReadFromTheFile_andDropped() throws IOException {
    try (CachedFileStream stream = open()) {
      readAll(stream);
      for (int i = 0; i < source.chunks.size(); i += 3) {
        PoolFaults.damage(cache.chunks().pool, source.key(i));
      }
      readAll(stream);
      for (int i = 0; i < source.chunks.size(); i += 3) {
        assertFalse(cache.vectors().isHeld(source.key(i)));
      }
      readAll(stream);
    }
  }

  @Test
  void fileWithoutLayout_isReadAround() throws IOException {
    LayoutReader[] unknown = {
      (file, identity, mostBytes) -> {
        throw new IllegalStateException("not of this format");
      },
      (file, identity, mostBytes) -> {
        throw new IOException("cannot be read");
      }
    };
    for (LayoutReader layouts : unknown) {
      try (CachedFileStream stream = open(layouts)) {
        readAll(stream);
      }
    }
    assertEquals(0, counters.chunksAsked());
    assertEquals(0, cache.poolStats().usedBytes());
  }

  @Test
  void rangeBeyondTheEnd_isRefused() throws IOException {
    try (CachedFileStream stream = open()) {
      assertThrows(
          EOFException.class, () -> stream.readFully(length() - 1, ByteBuffer.allocate(2)));
      assertThrows(EOFException.class, () -> stream.read(List.of(new Range(length(), 1))));
      assertThrows(EOFException.class, () -> stream.read(List.of(new Range(-1, 1))));
      assertEquals(-1, stream.read(length(), ByteBuffer.allocate(1)));
      assertEquals(0, stream.read(length(), ByteBuffer.allocate(0)));
      ByteBuffer end = ByteBuffer.allocate(10);
      assertEquals(2, stream.read(length() - 2, end));
      assertHolds(length() - 2, 2, end.flip());
    }
  }

  @Test
  void readThatFails_leavesNothingForTheNextOne() throws IOException {
    boolean[] isFailing = new boolean[1];
    source =
        source(
            1,
            ranges -> {
              if (isFailing[0]) {
                throw new IOException("injected");
              }
            },
            40,
            30_000);
    ChunkRequest last = source.chunks.get(source.chunks.size() - 1);
    ByteBuffer into = ByteBuffer.allocate((int) (length() - last.offset()));
    try (CachedFileStream stream = open()) {
      stream.readFully(0, ByteBuffer.allocate(1));
      cache.footers().clear();
      isFailing[0] = true;
      // From a chunk into the footer, which cannot be read.
      assertThrows(IOException.class, () -> stream.readFully(last.offset(), into));
      isFailing[0] = false;
      into.clear().limit(last.length() / 2);
      stream.readFully(source.chunks.get(0).offset(), into);
      assertHolds(source.chunks.get(0).offset(), last.length() / 2, into.flip());
    }
  }

  @Test
  void anyReads_inASmallPool_withFailuresAndDamage_giveTheBytes() throws IOException {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("CachedFileStreamTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    SyntheticFile.Reading failing =
        ranges -> {
          if (random.nextInt(20) == 0) {
            throw new IOException("injected");
          }
        };
    cache.close();
    cache = cache("1m");
    source = source(seed, failing, 120, 60_000);
    int failed = 0;
    for (int i = 0; i < 200; i++) {
      try (CachedFileStream stream = open()) {
        for (int k = random.nextInt(20); k >= 0; k--) {
          int which = random.nextInt(source.chunks.size());
          if (random.nextInt(10) == 0 && cache.vectors().isHeld(source.key(which))) {
            PoolFaults.damage(cache.chunks().pool, source.key(which));
          }
          try {
            readAny(stream, random);
          } catch (IOException e) {
            assertEquals("injected", e.getMessage(), () -> "seed " + seed);
            failed++;
          }
        }
      }
      assertEquals(0, cache.poolStats().pinnedChunks(), () -> "seed " + seed);
    }
    assertTrue(failed > 0 && counters.chunksHit() > 0 && counters.bytesFromFile() > 0);
  }

  private void readAny(CachedFileStream stream, Random random) throws IOException {
    switch (random.nextInt(4)) {
      case 0 -> {
        long at = random.nextLong(length());
        ByteBuffer into = ByteBuffer.allocateDirect(1 + random.nextInt(100));
        int count = stream.read(at, into);
        assertHolds(at, count, into.flip());
      }
      case 1 -> {
        ChunkRequest chunk = source.chunks.get(random.nextInt(source.chunks.size()));
        ByteBuffer into = ByteBuffer.allocate(chunk.length() + 9).position(4);
        into.limit(4 + chunk.length());
        stream.readFully(chunk.offset(), into);
        assertEquals(4 + chunk.length(), into.position());
        assertHolds(chunk.offset(), chunk.length(), into.position(4));
      }
      default -> readRanges(stream, random);
    }
  }

  private void readRanges(CachedFileStream stream, Random random) throws IOException {
    List<Range> ranges = new ArrayList<>();
    long at = random.nextLong(length());
    while (at < length() && ranges.size() < 5) {
      int count = (int) Math.min(length() - at, random.nextInt(60_000));
      ranges.add(new Range(at, count));
      at += count + random.nextInt(30_000);
    }
    IntFunction<ByteBuffer> allocate =
        random.nextBoolean()
            ? ByteBuffer::allocateDirect
            : bytes -> ByteBuffer.allocate(bytes + random.nextInt(5));
    List<ByteBuffer> buffers = stream.read(ranges, allocate);
    for (int i = 0; i < ranges.size(); i++) {
      assertHolds(ranges.get(i).offset(), ranges.get(i).length(), buffers.get(i));
    }
  }
}
