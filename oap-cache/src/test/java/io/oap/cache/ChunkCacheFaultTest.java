package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolException;
import io.oap.cache.pool.PoolFaults;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Files that cannot be read fail the reader and leave nothing behind; pools that fail do not. */
class ChunkCacheFaultTest {
  private final ColumnPool pool = RestingPool.open(1 << 20);
  private final ChunkCache cache = new ChunkCache(pool, 10_000, id -> null, null, LowerTier.NONE);
  private final SyntheticFile file = new SyntheticFile(1);
  private final CacheCounters counters = new CacheCounters();

  private final ChunkRequest a = file.chunk(0, 0, 100);
  private final ChunkRequest b = file.chunk(1, 100, 200);
  private final ChunkRequest c = file.chunk(2, 300, 300);

  @AfterEach
  void nothingIsLeftBehind() {
    RestingPool.close(pool);
  }

  private void getAndCheck(SyntheticFile from, ChunkRequest... requests) throws IOException {
    try (PinnedChunks held = cache.get(List.of(requests), from, new ReadContext(counters))) {
      from.assertHolds(List.of(requests), held);
    }
  }

  private void assertFailureComesOut(Throwable failure, SyntheticFile.Reading reading)
      throws IOException {
    getAndCheck(file, a);
    SyntheticFile failing = new SyntheticFile(1, reading);
    Throwable thrown =
        assertThrows(
            failure.getClass(),
            () -> cache.get(List.of(a, b, c), failing, new ReadContext(new CacheCounters())));
    assertSame(failure, thrown);
    assertFalse(pool.isHeld(b.key()) || pool.isHeld(c.key()));
    assertEquals(0, pool.stats().pinnedChunks());
    assertNull(cache.fault());
    // Nobody waits for the load that failed.
    getAndCheck(file, a, b, c);
    assertEquals(3, counters.chunksMissed());
  }

  @Test
  void readError_comesOut_andLeavesNothing() throws IOException {
    IOException failure = new IOException("disk");
    assertFailureComesOut(
        failure,
        ranges -> {
          throw failure;
        });
  }

  @Test
  void runtimeExceptionOfAFileSystem_comesOut_andLeavesNothing() throws IOException {
    RuntimeException failure = new IllegalStateException("stream is closed");
    assertFailureComesOut(
        failure,
        ranges -> {
          throw failure;
        });
  }

  @Test
  void errorOfTheJvm_comesOut_andLeavesNothing() throws IOException {
    Error failure = new OutOfMemoryError("as thrown by a file system's buffers");
    assertFailureComesOut(
        failure,
        ranges -> {
          throw failure;
        });
  }

  private void assertSwitchedOff() throws IOException {
    Throwable fault = cache.fault();
    assertInstanceOf(PoolException.class, fault);
    CacheCounters before = new CacheCounters();
    before.add(counters);
    getAndCheck(file, a, b, c);
    assertEquals(3, counters.minus(before).chunksBypassed());
    assertEquals(600, counters.minus(before).bytesFromFile());
    assertNull(cache.getIfHeld(a, new ReadContext(counters)));
    assertSame(fault, cache.fault());
  }

  @Test
  void poolThatFailsToPublish_isSwitchedOff_andTheReaderGoesOn() throws IOException {
    SyntheticFile faulty = new SyntheticFile(1, r -> PoolFaults.abandonLastReservation(pool));
    getAndCheck(faulty, a, b);
    assertEquals(1, counters.chunksMissed());
    assertEquals(1, counters.chunksBypassed());
    assertFalse(pool.isHeld(b.key()));
    assertSwitchedOff();
  }

  @Test
  void poolThatFailsToAbandon_isSwitchedOff_andTheReadersErrorComesOut() throws IOException {
    IOException failure = new IOException("disk");
    SyntheticFile faulty =
        new SyntheticFile(
            1,
            r -> {
              PoolFaults.abandonLastReservation(pool);
              throw failure;
            });
    assertSame(
        failure,
        assertThrows(
            IOException.class, () -> cache.get(List.of(a, b), faulty, new ReadContext(counters))));
    assertSwitchedOff();
  }

  @Test
  void poolThatFailsToUnpin_isSwitchedOff_andTheReaderGoesOn() throws IOException {
    getAndCheck(file, a, b);
    PinnedChunks held = cache.get(List.of(a, b), file, new ReadContext(counters));
    PoolFaults.unpinLastPin(pool);
    held.close();
    assertSwitchedOff();
  }

  @Test
  void secondFault_doesNotHideTheFirst() throws IOException {
    getAndCheck(file, a, b);
    PinnedChunks first = cache.get(List.of(a), file, new ReadContext(counters));
    PoolFaults.unpinLastPin(pool);
    PinnedChunks second = cache.get(List.of(b), file, new ReadContext(counters));
    PoolFaults.unpinLastPin(pool);
    first.close();
    Throwable fault = cache.fault();
    second.close();
    assertSame(fault, cache.fault());
    assertSwitchedOff();
  }

  @Test
  void chunksHeldWhenThePoolIsSwitchedOff_stayReadable() throws IOException {
    getAndCheck(file, a, b);
    PinnedChunks held = cache.get(List.of(a), file, new ReadContext(counters));
    PinnedChunks faulty = cache.get(List.of(b), file, new ReadContext(counters));
    PoolFaults.unpinLastPin(pool);
    faulty.close();
    assertInstanceOf(PoolException.class, cache.fault());
    file.assertHolds(List.of(a), held);
    held.close();
  }
}
