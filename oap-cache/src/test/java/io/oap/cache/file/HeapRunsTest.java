package io.oap.cache.file;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Runs as long as the bound allows, in order. */
class HeapRunsTest {
  private static final long MOST = HeapRuns.MOST_BYTES;

  private static List<List<Long>> of(Long... bytes) {
    return HeapRuns.of(List.of(bytes), Long::longValue);
  }

  @Test
  void items_stayInOrder_inAsFewRunsAsTheBoundAllows() {
    assertEquals(List.of(), of());
    assertEquals(List.of(List.of(1L, 2L, MOST - 3)), of(1L, 2L, MOST - 3));
    assertEquals(List.of(List.of(1L, MOST - 1), List.of(1L)), of(1L, MOST - 1, 1L));
  }

  @Test
  void itemAboveTheBound_isARunOfItsOwn() {
    assertEquals(
        List.of(List.of(1L), List.of(MOST + 1), List.of(MOST), List.of(2L, 3L)),
        of(1L, MOST + 1, MOST, 2L, 3L));
    assertEquals(List.of(List.of(MOST * 3)), of(MOST * 3));
  }
}
