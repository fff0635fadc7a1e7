package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.Admission;
import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorKind;
import io.oap.common.ChunkKey;
import io.oap.common.EntryKind;
import io.oap.common.FileId;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Files that leave first stay until there is no room, and then go before all others. */
class LeavingFilesTest extends QuotaFixture {

  private static FileId id(int number) {
    return new FileId(number, ~(long) number);
  }

  private void readOften(int number, int... columns) throws IOException {
    for (int round = 0; round < 4; round++) {
      read(Admission.EVICTING, number, columns);
    }
  }

  @Test
  void chunks_ofLeavingFiles_leaveOnceThePoolIsFull() throws IOException {
    readOften(0, columns(0, 10));
    readOften(2, columns(0, 10));
    read(Admission.EVICTING, 4, columns(0, 30));
    cache.leaving.add(List.of(id(0), id(2)));
    assertEquals(10 * PART, held(0), "there is room still");
    read(Admission.EVICTING, 6, columns(0, 20));
    assertEquals(0, held(0), "though it was used most");
    assertEquals(10 * PART, held(1), "one file was enough");
    assertEquals(30 * PART, held(2));
    assertEquals(20 * PART, held(3));
    read(Admission.EVICTING, 6, columns(20, 30));
    assertEquals(0, held(1));
    assertEquals(30 * PART, held(2));
    assertEquals(30 * PART, held(3));
  }

  @Test
  void chunks_ofGuests_pushNothingOut() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 40));
    read(Admission.EVICTING, 4, columns(0, 24));
    cache.leaving.add(List.of(id(0)));
    read(Admission.IF_FREE, 6, columns(0, 10));
    assertEquals(40 * PART, held(0));
    assertEquals(0, held(3));
  }

  @Test
  void files_thatHaveLeft_comeBackLikeOthers() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 40));
    cache.leaving.add(List.of(id(0)));
    read(Admission.EVICTING, 4, columns(0, 40));
    assertEquals(0, held(0));
    read(Admission.EVICTING, 0, columns(0, 20));
    read(Admission.EVICTING, 6, columns(0, 4));
    assertEquals(20 * PART, held(0));
  }

  @Test
  void files_withoutChunks_areDroppedWithoutAWalkOverWhatIsKept() throws Exception {
    read(Admission.EVICTING, 0, columns(0, 4));
    Thread drop = new Thread(() -> cache.drop(id(2)));
    synchronized (cache.kept) { // the walk waits for this
      drop.start();
      drop.join(20_000);
      assertFalse(drop.isAlive());
    }
    assertEquals(4 * PART, held(0));
  }

  @Test
  void files_withoutChunks_waitForNothing() {
    try (ColumnCache whole = ColumnCache.open(Map.of("spark.oap.pool.size", "1m")::get)) {
      whole.leaveFirst(Set.of(id(2)));
      assertTrue(whole.chunks().leaving.isEmpty());
    }
  }

  @Test
  void chunks_thatHaveAnOwner_pushOutLeavingFilesFirst() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 40));
    readOften(4, columns(0, 24));
    cache.leaving.add(List.of(id(4)));
    NativeBuffer values = new NativeBuffer(Long.BYTES * VectorChunk.ZONE_ROWS);
    for (int i = 0; i < VectorChunk.ZONE_ROWS; i++) {
      values.buffer().putLong(Long.BYTES * i, i * 0x9e3779b97f4a7c15L); // does not pack
    }
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I64)) {
      encoder.add(values.address(), 0, VectorChunk.ZONE_ROWS);
      ChunkKey key = new ChunkKey(new FileId(1, 1), 0, 0, EntryKind.CACHED_BATCH.representation(0));
      new OwnedChunks(pool, cache).put(key, encoder, encoder.finish()).close();
    }
    assertEquals(40 * PART, held(0));
    assertEquals(0, held(2), "though it was used most");
  }
}
