package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A load ends once, publishes what has room only, and leaves nothing behind. */
class ChunkLoadTest {
  private final ColumnPool pool = RestingPool.open(1 << 20);
  private final ChunkCache cache = new ChunkCache(pool, 10_000, id -> null, null, LowerTier.NONE);
  private final ReadContext context = new ReadContext(new CacheCounters());
  private final ChunkKey key = new SyntheticFile(1).chunk(0, 0, 1).key();

  @AfterEach
  void nothingIsLeftBehind() {
    assertTrue(cache.loads.isEmpty());
    RestingPool.close(pool);
  }

  @Test
  void loadThatIsNotPublished_givesAllBack() {
    try (ChunkLoad load = cache.begin(key, 100, context)) {
      assertTrue(load.hasRoom());
      load.room().piece(0).put((byte) 1);
    }
    assertFalse(pool.isHeld(key));
    assertEquals(0, pool.stats().usedBytes());
  }

  @Test
  void loadThatHasEnded_hasNoRoom() {
    ChunkLoad load = cache.begin(key, 100, context);
    load.close();
    load.close();
    assertThrows(IllegalStateException.class, load::room);
    assertThrows(IllegalStateException.class, () -> load.publish(1));
    assertFalse(pool.isHeld(key));
  }

  @Test
  void loadIsPublishedOnce() {
    try (ChunkLoad load = cache.begin(key, 100, context)) {
      load.publish(1);
      assertThrows(IllegalStateException.class, () -> load.publish(1));
    }
    assertTrue(pool.isHeld(key));
    try (ChunkLoad again = cache.begin(key, 100, context)) {
      assertTrue(again.isPresent());
      assertFalse(again.hasRoom());
    }
  }

  @Test
  void secondLoadOfAChunk_waitsForTheFirst() {
    try (ChunkLoad first = cache.begin(key, 100, context)) {
      try (ChunkLoad second = cache.begin(key, 100, context)) {
        assertTrue(second.isLoadedByOthers());
        assertThrows(IllegalStateException.class, second::room);
      }
      assertTrue(first.hasRoom());
    }
  }

  @Test
  void readerThatMayLoadNothing_isRefused() {
    ReadContext never = new ReadContext(new CacheCounters(), Admission.NEVER, chunk -> false);
    try (ChunkLoad load = cache.begin(key, 100, never)) {
      assertFalse(load.hasRoom());
      assertEquals(MissCause.NOT_ADMITTED, load.refusal());
    }
  }
}
