package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.OwnedChunks.OwnedChunk;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolFaults;
import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorKind;
import io.oap.common.ChunkKey;
import io.oap.common.EntryKind;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Chunks that no file has stay with their owner, within bounds. */
class OwnedChunksTest {
  private static final int ROWS = VectorChunk.ZONE_ROWS;
  private static final long SEED = 7;

  private final ColumnCache cache = ColumnCache.open(Map.of("spark.oap.pool.size", "1m")::get);
  private final NativeBuffer values = new NativeBuffer(8 * ROWS);

  /** Puts values that do not pack; null where there is no room. */
  private OwnedChunk put(int number) {
    Random random = new Random(SEED + number);
    for (int i = 0; i < ROWS; i++) {
      values.buffer().putLong(8 * i, random.nextLong());
    }
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I64)) {
      encoder.add(values.address(), 0, ROWS);
      ChunkKey key =
          new ChunkKey(new FileId(1, number), 0, 0, EntryKind.CACHED_BATCH.representation(0));
      return cache.owned().put(key, encoder, encoder.finish());
    }
  }

  private void assertReadable(OwnedChunk chunk, int number) {
    Random random = new Random(SEED + number);
    try (VectorChunk open = chunk.open()) {
      assertEquals(0, open.unpack(0, 0, ROWS, values.address(), 0));
    }
    for (int i = 0; i < ROWS; i++) {
      assertEquals(random.nextLong(), values.buffer().getLong(8 * i));
    }
  }

  @Test
  void chunk_whenThePoolIsCleared_staysUntilItIsClosed() {
    OwnedChunk chunk = put(0);
    cache.clear();
    assertReadable(chunk, 0);
    assertEquals(chunk.bytes(), cache.owned().bytes());
    chunk.close();
    chunk.close();
    assertEquals(0, cache.owned().bytes());
    assertEquals(0, cache.poolStats().usedBytes());
    cache.close();
  }

  @Test
  void chunks_asManyAsMayStay_leaveAFifthOfThePool() {
    List<OwnedChunk> chunks = new ArrayList<>();
    for (OwnedChunk chunk = put(0); chunk != null; chunk = put(chunks.size())) {
      chunks.add(chunk);
    }
    assertTrue(chunks.size() > 10, "only " + chunks.size());
    assertTrue(cache.owned().bytes() <= cache.poolStats().capacityBytes() / 5 * 4);
    for (int i = 0; i < chunks.size(); i++) {
      assertReadable(chunks.get(i), i);
    }
    chunks.remove(0).close();
    OwnedChunk again = put(99);
    assertNotNull(again);
    again.close();
    chunks.forEach(OwnedChunk::close);
    assertEquals(0, cache.poolStats().pinnedBytes());
    cache.close();
  }

  @Test
  void chunk_whenThePoolShrinks_staysReadable() {
    OwnedChunk first = put(0);
    OwnedChunk second = put(1);
    cache.resize(128 << 10);
    assertReadable(first, 0);
    assertReadable(second, 1);
    first.close();
    second.close();
    assertEquals(0, cache.poolStats().pinnedBytes());
    cache.close();
  }

  @Test
  void copy_ofAChunk_opensOutsideThePool() {
    try (OwnedChunk chunk = put(3)) {
      byte[] bytes = chunk.copy();
      NativeBuffer memory = new NativeBuffer(bytes.length);
      memory.buffer().put(0, bytes);
      try (VectorChunk open = VectorChunk.open(memory, bytes.length)) {
        assertEquals(ROWS, open.rows());
        assertEquals(0, open.unpack(0, 0, ROWS, values.address(), 0));
      }
    }
    cache.close();
  }

  @Test
  void chunk_damagedWhereWritesWereLost_isNotReadAnyMore() {
    ColumnPool pool = RestingPool.open(1 << 20);
    OwnedChunks owned =
        new OwnedChunks(pool, new ChunkCache(pool, 1000, file -> null, null, LowerTier.NONE));
    ChunkKey key = key(3);
    byte[] bytes = new byte[5000];
    new Random(SEED).nextBytes(bytes);
    try (OwnedChunk chunk = owned.put(key, ByteBuffer.wrap(bytes));
        OwnedChunk other = owned.put(key(4), ByteBuffer.wrap(bytes))) {
      assertFalse(chunk.isInDoubt());
      PoolFaults.damage(pool, key);
      PoolFaults.loseWrites(pool);
      pool.clear(); // as the pool does itself
      assertTrue(chunk.isInDoubt());
      assertFalse(chunk.isSound());
      assertThrows(DamagedChunkException.class, chunk::copy);
      assertTrue(other.isSound());
      assertArrayEquals(bytes, other.copy());
    }
    RestingPool.close(pool);
  }

  @Test
  void chunk_thatIsNoVectorChunkAnyMore_putsAllInDoubt() {
    ColumnPool pool = RestingPool.open(1 << 20);
    OwnedChunks owned =
        new OwnedChunks(pool, new ChunkCache(pool, 1000, file -> null, null, LowerTier.NONE));
    try (OwnedChunk chunk = owned.put(key(3), ByteBuffer.wrap(new byte[5000]))) {
      assertFalse(owned.areInDoubt());
      assertThrows(DamagedChunkException.class, chunk::open);
      assertTrue(owned.areInDoubt());
    }
    RestingPool.close(pool);
  }

  private static ChunkKey key(int number) {
    return new ChunkKey(new FileId(3, number), 0, 0, EntryKind.CACHED_BATCH.representation(0));
  }

  @Test
  void bytes_ofAnyKind_areCopied() {
    byte[] bytes = new byte[300_001];
    new Random(SEED).nextBytes(bytes);
    ChunkKey key = new ChunkKey(new FileId(2, 1), 0, 0, EntryKind.CACHED_BATCH.representation(0));
    ByteBuffer from = ByteBuffer.wrap(bytes, 1, bytes.length - 1);
    try (OwnedChunk chunk = cache.owned().put(key, from)) {
      assertEquals(bytes.length - 1, from.remaining());
      assertArrayEquals(Arrays.copyOfRange(bytes, 1, bytes.length), chunk.copy());
    }
    assertEquals(0, cache.poolStats().usedBytes());
    cache.close();
  }
}
