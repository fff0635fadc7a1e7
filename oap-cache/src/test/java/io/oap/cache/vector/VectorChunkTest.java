package io.oap.cache.vector;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.Reservation;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Vector chunks in a pool, from Java; the C tests cover values, encodings and filters in depth. */
class VectorChunkTest {

  private static final int ROWS = VectorChunk.ZONE_ROWS + 1000;
  private static final FileId FILE = new FileId(1, 2);
  private static final ChunkKey KEY = ChunkKey.encoded(FILE, 3, 4);

  private final ColumnPool pool = ColumnPool.open(PoolOptions.anonymous(1 << 24));
  private final NativeBuffer values = new NativeBuffer(8 * VectorChunk.ZONE_ROWS);
  private final NativeBuffer lengths = new NativeBuffer(4 * VectorChunk.ZONE_ROWS);
  private final NativeBuffer nulls = new NativeBuffer(VectorChunk.ZONE_ROWS);
  private final NativeBuffer selection = new NativeBuffer(2 * VectorChunk.ZONE_ROWS);

  @AfterEach
  void closePool() {
    pool.validate();
    pool.close();
  }

  @Test
  void integers_comeBackAndAreFiltered() {
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I32)) {
      addZones(encoder, (row) -> values.buffer().putInt(4 * (row % 4096), 1000 + row / 10));
      try (Pin pin = publish(encoder);
          VectorChunk chunk = VectorChunk.open(pin);
          KeySet keys = KeySet.of(1003, 1005, 1459, 77)) {
        assertEquals(VectorKind.I32, chunk.kind());
        assertEquals(ROWS, chunk.rows());
        assertEquals(2, chunk.zones());
        assertEquals(1000, chunk.rows(1));
        assertEquals(1000, chunk.minimum(0));
        assertEquals(1000 + (ROWS - 1) / 10, chunk.maximum(1));
        assertEquals(4096 / 7 + 1, chunk.nulls(0));
        assertEquals(VectorEncoding.RUNS, chunk.encoding(0));
        assertEquals(ZoneDecision.SOME, chunk.decideIn(0, keys));
        assertEquals(ZoneDecision.NONE, chunk.decideRange(1, 0, 1400));

        int found = chunk.selectIn(0, keys, 0, 0, selection.address());
        assertArrayEquals(
            IntStream.range(0, 4096)
                .filter(row -> row % 7 != 0 && (row / 10 == 3 || row / 10 == 5))
                .toArray(),
            rows(found));
        assertEquals(0, chunk.unpack(0, selection.address(), found, values.address(), 0));
        assertEquals(1003, values.buffer().getInt(0));
        assertEquals(1005, values.buffer().getInt(4 * (found - 1)));
        found = chunk.selectRange(0, 1005, 5000, selection.address(), found, selection.address());
        assertEquals(9, found);
        assertEquals(4096 / 7 + 1, chunk.selectNull(0, true, 0, 0, selection.address()));

        int nullRows = chunk.unpack(1, 0, 0, values.address(), nulls.address());
        assertEquals(chunk.nulls(1), nullRows);
        assertEquals(1, nulls.buffer().get(0));
        assertEquals(1000 + 4097 / 10, values.buffer().getInt(4));
      }
    }
  }

  @Test
  void strings_pointIntoThePinnedChunk() {
    byte[][] words = {utf8("first"), utf8(""), utf8("third word")};
    NativeBuffer text = new NativeBuffer(64);
    text.buffer().put(words[0]).put(words[2]);
    long[] at = {text.address(), text.address(), text.address() + words[0].length};
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.BYTES)) {
      addZones(
          encoder,
          row -> {
            values.buffer().putLong(8 * (row % 4096), at[row % 3]);
            lengths.buffer().putInt(4 * (row % 4096), words[row % 3].length);
          });
      try (Pin pin = publish(encoder);
          VectorChunk chunk = VectorChunk.open(pin)) {
        assertEquals(3, chunk.dictionaryEntries());
        assertTrue(chunk.hasCodes(0));
        chunk.dictionaryBytes(values.address(), lengths.address());
        NativeBuffer matches = new NativeBuffer(3);
        for (int code = 0; code < 3; code++) {
          matches.buffer().put(code, (byte) (lengths.buffer().getInt(4 * code) == 10 ? 1 : 0));
        }
        int found = chunk.selectCodes(0, matches.address(), 0, 0, selection.address());
        assertEquals(
            IntStream.range(0, 4096).filter(row -> row % 7 != 0 && row % 3 == 2).count(), found);
        chunk.unpackBytes(
            0, selection.address(), found, values.address(), lengths.address(), nulls.address());
        assertEquals(10, lengths.buffer().getInt(0));
        assertEquals((byte) 't', byteAt(pin, values.buffer().getLong(0)));
        assertEquals(ZoneDecision.NONE, chunk.decidePrefix(0, prefix("u"), prefix("z")));
        assertEquals(ZoneDecision.SOME, chunk.decidePrefix(0, prefix("first"), prefix("first")));
      }
    }
  }

  @Test
  void doubles_areInSparksOrder() {
    double[] some = {Double.NaN, -0.0, 0.0, 1.5, Double.NEGATIVE_INFINITY};
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.F64)) {
      addZones(encoder, row -> values.buffer().putDouble(8 * (row % 4096), some[row % 5]));
      try (Pin pin = publish(encoder);
          VectorChunk chunk = VectorChunk.open(pin)) {
        long out = selection.address();
        assertEquals(
            IntStream.range(0, 4096).filter(r -> r % 7 != 0 && (r % 5 == 1 || r % 5 == 2)).count(),
            chunk.selectDoubles(0, 0.0, false, 0.0, false, 0, 0, out));
        assertEquals(
            IntStream.range(0, 4096).filter(r -> r % 7 != 0 && (r % 5 == 0 || r % 5 == 3)).count(),
            chunk.selectDoubles(0, 0.0, true, Double.NaN, false, 0, 0, out));
        assertEquals(
            ZoneDecision.NONE, chunk.decideDoubles(0, Double.NaN, true, Double.NaN, false));
        assertTrue(Double.isNaN(Double.longBitsToDouble(chunk.maximum(0))));
      }
    }
  }

  @Test
  void decodedRows_areFilteredOneSetAfterTheOther() {
    assertThrows(VectorException.class, () -> VectorChunk.ofDecoded(VectorKind.BYTES));
    try (VectorChunk rows = VectorChunk.ofDecoded(VectorKind.I16)) {
      assertEquals(0, rows.zones());
      assertThrows(IndexOutOfBoundsException.class, () -> rows.decideRange(0, 1, 2));
      for (int count : new int[] {4096, 10}) {
        for (int row = 0; row < count; row++) {
          values.buffer().putShort(2 * row, (short) (row - 5));
          nulls.buffer().put(row, (byte) (row == 6 ? 1 : 0));
        }
        rows.setDecoded(values.address(), nulls.address(), count);
        assertEquals(count, rows.rows(0));
        assertEquals(1, rows.nulls(0));
        assertEquals(ZoneDecision.SOME, rows.decideRange(0, 0, 2));
        int found = rows.selectRange(0, Long.MIN_VALUE, 2, 0, 0, selection.address());
        assertArrayEquals(new int[] {0, 1, 2, 3, 4, 5, 7}, rows(found));
      }
      for (int count : new int[] {0, -1, 4097}) {
        assertThrows(VectorException.class, () -> rows.setDecoded(values.address(), 0, count));
      }
    }
  }

  @Test
  void faults_areOneException() {
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I8)) {
      assertThrows(VectorException.class, () -> encoder.add(values.address(), 0, 4097));
    }
    try (Reservation reservation = pool.reserve(KEY, 256)) {
      reservation.piece(0).put(new byte[256]);
      try (Pin pin = reservation.publish()) {
        VectorException e = assertThrows(VectorException.class, () -> VectorChunk.open(pin));
        assertTrue(e.isCorrupt());
      }
    }
    pool.clear();
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.I64)) {
      encoder.add(values.address(), 0, 10);
      try (Pin pin = publish(encoder)) {
        VectorChunk chunk = VectorChunk.open(pin);
        assertThrows(VectorException.class, () -> chunk.setDecoded(values.address(), 0, 10));
        assertThrows(IndexOutOfBoundsException.class, () -> chunk.minimum(1));
        assertThrows(
            VectorException.class, () -> chunk.selectCodes(0, 0, 0, 0, selection.address()));
        chunk.close();
        chunk.close();
        assertThrows(IllegalStateException.class, () -> chunk.minimum(0));
      }
    }
  }

  /** Its strings lie across the ends of pieces, so what they are read from is memory of its own. */
  @Test
  void strings_ofSeveralPieces_canBeReadAfterClose_byWhoeverItWasToWaitFor() {
    for (int i = 0; i < 128; i++) {
      try (Reservation reservation = pool.reserve(ChunkKey.encoded(FILE, 0, i), 1 << 17)) {
        reservation.publish().close();
      }
    }
    for (int i = 0; i < 128; i += 2) {
      pool.drop(ChunkKey.encoded(FILE, 0, i));
    }
    byte[] text = new byte[64 * VectorChunk.ZONE_ROWS];
    new Random(1).nextBytes(text);
    NativeBuffer kept = new NativeBuffer(text.length);
    kept.buffer().put(text);
    for (int row = 0; row < VectorChunk.ZONE_ROWS; row++) {
      values.buffer().putLong(8 * row, kept.address() + 64L * row);
      lengths.buffer().putInt(4 * row, 64);
    }
    try (Pin pin = publishStrings(KEY)) {
      assertTrue(pin.pieces() > 1);
      VectorChunk chunk = VectorChunk.open(pin);
      chunk.unpackBytes(0, 0, 0, values.address(), lengths.address(), nulls.address());
      chunk.closeAfter(values);
      chunk.close();
      // What was freed would be used again.
      IntStream.range(0, 100).forEach(i -> new NativeBuffer(i * 5000));
      try (Pin again = publishStrings(ChunkKey.encoded(FILE, 1, 0))) {
        assertArrayEquals(bytes(pin), bytes(again));
      }
    }
  }

  private Pin publishStrings(ChunkKey key) {
    try (VectorEncoder encoder = new VectorEncoder(VectorKind.BYTES)) {
      encoder.addBytes(values.address(), lengths.address(), nulls.address(), VectorChunk.ZONE_ROWS);
      return publish(encoder, pool.reserve(key, encoder.finish(), Admission.IF_FREE, 0));
    }
  }

  private static byte[] bytes(Pin pin) {
    ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(pin.bytes()));
    for (int i = 0; i < pin.pieces(); i++) {
      all.put(pin.piece(i).duplicate().rewind());
    }
    return all.array();
  }

  @Test
  void keySet_knowsItsKeys() {
    try (KeySet keys = KeySet.of(LongStream.range(0, 100_000).map(i -> i * i).toArray())) {
      assertEquals(100_000, keys.size());
      assertEquals(99_999L * 99_999, keys.maximum());
      assertTrue(keys.contains(49) && !keys.contains(50));
      assertTrue(keys.meets(50, 64) && !keys.meets(50, 63));
      assertTrue(keys.memory() < 100_000 * 64);
    }
    try (KeySet none = KeySet.of()) {
      assertEquals(0, none.size());
      assertFalse(none.meets(Long.MIN_VALUE, Long.MAX_VALUE));
    }
  }

  private interface PutRow {
    void put(int row);
  }

  /** All rows; every seventh of a zone is null. */
  private void addZones(VectorEncoder encoder, PutRow put) {
    for (int from = 0; from < ROWS; from += VectorChunk.ZONE_ROWS) {
      int rows = Math.min(VectorChunk.ZONE_ROWS, ROWS - from);
      for (int row = 0; row < rows; row++) {
        put.put(from + row);
        nulls.buffer().put(row, (byte) (row % 7 == 0 ? 1 : 0));
      }
      if (encoder.kind() == VectorKind.BYTES) {
        encoder.addBytes(values.address(), lengths.address(), nulls.address(), rows);
      } else {
        encoder.add(values.address(), nulls.address(), rows);
      }
    }
  }

  private Pin publish(VectorEncoder encoder) {
    long bytes = encoder.finish();
    assertTrue(encoder.memory() > 0);
    return publish(encoder, pool.reserve(KEY, bytes));
  }

  private static Pin publish(VectorEncoder encoder, Reservation room) {
    try (Reservation reservation = room) {
      encoder.write(reservation);
      return reservation.publish();
    }
  }

  private int[] rows(int count) {
    return IntStream.range(0, count).map(i -> selection.buffer().getShort(2 * i)).toArray();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static long prefix(String text) {
    return ByteBuffer.wrap(Arrays.copyOf(utf8(text), 8)).getLong();
  }

  /** What an address says, which lies in the pin's only piece. */
  private static byte byteAt(Pin pin, long address) {
    assertEquals(1, pin.pieces());
    ByteBuffer piece = pin.piece(0);
    return piece.get(Math.toIntExact(address - NativeVector.address(piece)));
  }
}
