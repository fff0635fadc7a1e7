package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.HandedChunks.Taken;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import io.oap.common.EntryKind;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Chunks that go from one pool to another have the same bytes there, or are not there. */
class HandedChunksTest {
  private static final int LENGTH = 10_000;
  private static final ReadContext READER = new ReadContext(new CacheCounters());

  private final FileIdentity identity = new FileIdentity("file:/t/a.parquet", 1 << 20, 7, "");
  private final SyntheticFile bytes = new SyntheticFile(1);
  private final ColumnCache from = open();
  private final ColumnCache to = open();

  private static ColumnCache open() {
    return ColumnCache.open(Map.of("spark.oap.pool.size", "1m")::get);
  }

  @AfterEach
  void close() {
    from.close();
    to.close();
  }

  private ChunkRequest chunk(int column) {
    ChunkKey key = ChunkKey.encoded(identity.id(), 0, column);
    return new ChunkRequest(key, (long) LENGTH * column, LENGTH);
  }

  private void load(ColumnCache cache, FileIdentity file, int column) throws IOException {
    int[] lengths = {LENGTH, LENGTH, LENGTH};
    cache
        .files()
        .add(file.id(), () -> new KnownFile(file, List.of("a", "b", "c"), new long[] {0}, lengths));
    ChunkRequest chunk =
        new ChunkRequest(ChunkKey.encoded(file.id(), 0, column), (long) LENGTH * column, LENGTH);
    cache.chunks().get(List.of(chunk), bytes, READER).close();
  }

  /** Chunks as a pool lists them that has counted so many asks for each. */
  private static List<HeldKey> asked(int asks, ChunkKey... keys) {
    return Stream.of(keys).map(key -> new HeldKey(key, LENGTH, asks)).toList();
  }

  /** Fills the other pool with one chunk that is read so often. */
  private ChunkKey fill(int reads) throws IOException {
    long capacity = to.poolStats().capacityBytes();
    ChunkKey key = ChunkKey.encoded(new FileId(1, 2), 0, 0);
    List<ChunkRequest> large = List.of(new ChunkRequest(key, 0, (int) capacity - LENGTH / 2));
    for (int i = 0; i < reads; i++) {
      to.chunks().get(large, bytes, READER).close();
    }
    return key;
  }

  private static void assertTaken(long chunks, long refused, Taken taken) {
    assertEquals(new Taken(chunks, chunks * LENGTH, refused), taken);
  }

  @Test
  void chunks_haveTheirBytesAndFilesInTheOtherPool() throws IOException {
    load(from, identity, 0);
    load(from, identity, 2);
    FileIdentity other = new FileIdentity("file:/t/b.parquet", 1 << 20, 7, "tag");
    load(from, other, 1);
    ChunkKey ofOther = ChunkKey.encoded(other.id(), 0, 1);
    ByteBuffer part =
        from.handed().pack(asked(1, chunk(0).key(), ofOther, chunk(1).key(), chunk(2).key()));
    assertTaken(3, 0, to.handed().unpack(part.duplicate(), true));
    for (int column : new int[] {0, 2}) {
      try (PinnedChunks held = to.chunks().getIfHeld(chunk(column), READER)) {
        assertNotNull(held);
        bytes.assertHolds(List.of(chunk(column)), held);
      }
    }
    assertNull(to.chunks().getIfHeld(chunk(1), READER));
    assertTrue(to.vectors().isHeld(ofOther));
    assertEquals(other, to.files().get(other.id()).identity());
    assertEquals(List.of("a", "b", "c"), to.files().get(identity.id()).columns());
    assertEquals(new ColumnCache.Verified(3, 3 * LENGTH, 0, 0), to.verify(file -> true));
    // What is there already counts as taken.
    assertTaken(3, 0, to.handed().unpack(part, true));
    assertEquals(3, to.poolStats().chunks());
  }

  @Test
  void damagedChunk_isLeftOut() throws IOException {
    load(from, identity, 0);
    load(from, identity, 1);
    ByteBuffer part = from.handed().pack(asked(1, chunk(0).key(), chunk(1).key()));
    part.put(part.limit() - 1, (byte) ~part.get(part.limit() - 1));
    assertTaken(1, 1, to.handed().unpack(part, true));
    assertTrue(to.vectors().isHeld(chunk(0).key()));
    assertFalse(to.vectors().isHeld(chunk(1).key()));
  }

  @Test
  void tornPart_isAnErrorAndLeavesNothingHalf() throws IOException {
    load(from, identity, 0);
    load(from, identity, 1);
    ByteBuffer part = from.handed().pack(asked(1, chunk(0).key(), chunk(1).key()));
    ByteBuffer torn = part.limit(part.limit() - 1);
    assertThrows(RuntimeException.class, () -> to.handed().unpack(torn, true));
    assertEquals(1, to.poolStats().chunks());
    assertEquals(0, to.poolStats().pinnedChunks());
    assertNull(to.chunks().fault());
  }

  @Test
  void fullPool_keepsWhatIsAskedForAsOften() throws IOException {
    ChunkKey other = fill(4);
    for (int i = 0; i < 4; i++) {
      load(from, identity, 0);
    }
    ByteBuffer part = from.handed().pack(from.snapshot().chunks());
    assertTaken(0, 1, to.handed().unpack(part, true));
    assertTrue(to.vectors().isHeld(other));
    assertNull(to.chunks().fault());
  }

  @Test
  void fullPool_takesWhatIsAskedForMoreOften() throws IOException {
    ChunkKey other = fill(1);
    for (int i = 0; i < 4; i++) {
      load(from, identity, 0);
    }
    ByteBuffer part = from.handed().pack(from.snapshot().chunks());
    assertTaken(0, 1, to.handed().unpack(part.duplicate(), false));
    assertTrue(to.vectors().isHeld(other));
    assertTaken(1, 0, to.handed().unpack(part, true));
    assertFalse(to.vectors().isHeld(other));
    try (PinnedChunks held = to.chunks().getIfHeld(chunk(0), READER)) {
      bytes.assertHolds(List.of(chunk(0)), held);
    }
    // Its asks have come with it.
    assertEquals(4 + 1, to.snapshot().chunks().get(0).asks());
  }

  @Test
  void quota_isObeyed() throws IOException {
    load(from, identity, 0);
    load(from, identity, 1);
    PoolShare share = PoolShare.parse("15k");
    to.limit(List.of(new QuotaRule(Kind.QUOTA, "t", List.of("file:/t"), share, 1)));
    ByteBuffer part = from.handed().pack(asked(1, chunk(0).key(), chunk(1).key()));
    assertTaken(1, 1, to.handed().unpack(part, true));
  }

  @Test
  void vectorChunk_isCopiedAsItIs() throws IOException {
    load(from, identity, 0);
    ChunkKey vector = new ChunkKey(identity.id(), 0, 0, EntryKind.VECTOR.representation(5L << 40));
    assertEquals(0, from.handed().pack(asked(1, vector)).remaining());
    ByteBuffer part = from.handed().pack(asked(1, chunk(0).key()));
    // Representations are passed on as numbers: the bytes are what was published with them.
    int at = part.limit() - LENGTH - 2 * Integer.BYTES - 2 * Long.BYTES;
    part.putLong(at, vector.representation());
    assertTaken(1, 0, to.handed().unpack(part, true));
    assertTrue(to.vectors().isHeld(vector));
    assertFalse(to.vectors().isHeld(chunk(0).key()));
  }

  @Test
  void unknownFile_isPassedOver() throws IOException {
    ChunkKey key = ChunkKey.encoded(new FileId(1, 2), 0, 0);
    assertEquals(0, from.handed().pack(asked(1, key)).remaining());
    assertTaken(0, 0, to.handed().unpack(ByteBuffer.allocate(0), true));
  }
}
