package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolFaults;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorFaults;
import io.oap.cache.vector.VectorKind;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Errors of the JVM come out wherever they strike, and leave no pin, reservation or load behind.
 */
class ChunkCacheErrorTest {
  private final Error error = new OutOfMemoryError("injected");
  private final ColumnPool pool = RestingPool.open(1 << 20);

  /** While it is set, whoever wants to know a file or whether a chunk is pinned gets the error. */
  private boolean isFailing;

  private final ChunkCache cache = new ChunkCache(pool, 10_000, this::file, null, LowerTier.NONE);
  private final ReadContext reader = new ReadContext(new CacheCounters());
  private final ReadContext keeping =
      new ReadContext(
          new CacheCounters(),
          Admission.EVICTING,
          key -> {
            failIfSet();
            return false;
          });
  private final SyntheticFile file = new SyntheticFile(1);
  private final ChunkRequest a = file.chunk(0, 0, 100);
  private final ChunkRequest b = file.chunk(1, 100, 200);
  private final ChunkRequest c = file.chunk(2, 300, 300);

  @AfterEach
  void nothingIsLeftBehind() {
    RestingPool.close(pool);
  }

  private void failIfSet() {
    if (isFailing) {
      throw error;
    }
  }

  /** Known to nobody, so that it is looked up for each chunk. */
  private KnownFile file(FileId id) {
    failIfSet();
    return null;
  }

  private void assertGets(ChunkRequest... requests) throws IOException {
    isFailing = false;
    CacheCounters counters = new CacheCounters();
    try (PinnedChunks held = cache.get(List.of(requests), file, new ReadContext(counters))) {
      file.assertHolds(List.of(requests), held);
    }
    assertEquals(requests.length, counters.chunksAsked());
    assertTrue(cache.loads.isEmpty(), "loads that never end");
    assertNull(cache.fault());
  }

  @Test
  void errorAfterAHit_leavesNoPin() throws IOException {
    assertGets(a);
    isFailing = true;
    assertSame(
        error, assertThrows(Error.class, () -> cache.get(List.of(b, a), file, keeping).close()));
    assertEquals(0, pool.stats().pinnedChunks());
    assertGets(a, b);
  }

  @Test
  void errorAfterAHitOfAPart_leavesNoPin() throws IOException {
    assertGets(a);
    isFailing = true;
    assertSame(error, assertThrows(Error.class, () -> cache.getIfHeld(a, keeping)));
    assertEquals(0, pool.stats().pinnedChunks());
    assertGets(a);
  }

  @Test
  void errorAfterAChunkIsPublished_abandonsTheOthers() throws IOException {
    isFailing = true;
    assertSame(
        error, assertThrows(Error.class, () -> cache.get(List.of(a, b, c), file, keeping).close()));
    assertEquals(0, pool.stats().pinnedChunks());
    assertGets(a, b, c);
  }

  @Test
  void errorWhileLoadsAreAbandoned_abandonsTheOthersToo() throws IOException {
    cache.limit(List.of(new QuotaRule(Kind.QUOTA, "t", List.of("/t"), PoolShare.parse("50%"), 1)));
    SyntheticFile failing =
        new SyntheticFile(
            1,
            ranges -> {
              isFailing = true;
              throw new IOException("disk");
            });
    assertSame(
        error,
        assertThrows(
            Error.class,
            () -> cache.get(List.of(a, b, c), failing, new ReadContext(new CacheCounters()))));
    assertEquals(0, pool.stats().pinnedChunks());
    assertGets(a, b, c);
  }

  private static final ChunkKey VECTOR = new ChunkKey(new FileId(9, 9), 0, 0, 1);

  private void putVector() {
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I32)) {
      NativeBuffer values = new NativeBuffer(400);
      encoder.add(values.address(), 0, 100);
      ChunkKey encoded = ChunkKey.encoded(VECTOR.file(), 0, 0);
      new VectorChunks(pool, cache).put(VECTOR, encoder, encoded, 400, reader);
    }
    assertTrue(pool.isHeld(VECTOR));
  }

  @Test
  void errorAfterAVectorChunkIsFound_leavesNoPin() {
    putVector();
    isFailing = true;
    VectorChunks vectors = new VectorChunks(pool, cache);
    assertSame(error, assertThrows(Error.class, () -> vectors.getIfHeld(VECTOR, keeping)));
    assertEquals(0, pool.stats().pinnedChunks());
    assertTrue(pool.isHeld(VECTOR));
  }

  @Test
  void vectorChunk_staysWhenThereIsNoMemoryToReadIt() {
    putVector();
    VectorChunks starved =
        new VectorChunks(
            pool,
            cache,
            pin -> {
              throw VectorFaults.outOfMemory();
            });
    assertNull(starved.getIfHeld(VECTOR, reader));
    assertTrue(pool.isHeld(VECTOR));
    try (PinnedVector held = new VectorChunks(pool, cache).getIfHeld(VECTOR, reader)) {
      assertNotNull(held);
    }
  }

  @Test
  void vectorChunk_isDroppedWhenItIsNone() {
    putVector();
    PoolFaults.damage(pool, VECTOR);
    assertNull(new VectorChunks(pool, cache, VectorChunk::open).getIfHeld(VECTOR, reader));
    assertFalse(pool.isHeld(VECTOR));
  }
}
