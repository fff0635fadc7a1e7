package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The chunks that a pool held at one time.
 *
 * @param version the pool's content version before the chunks were listed; while {@link
 *     ColumnPool#contentVersion} is still the same, so is what the pool holds. No version where the
 *     list is not {@linkplain #isWhole whole}
 * @param chunks what was published all the while, and perhaps some of what came or went meanwhile
 */
public record PoolSnapshot(long version, List<HeldKey> chunks) {

  /** Size of a C oap_held, and how many of them one buffer takes. */
  private static final int HELD_BYTES = 48;

  /** OAP_NO_VERSION of oap_pool.h. */
  private static final long NO_VERSION = -1;

  private static final long MOST_LISTED = Integer.MAX_VALUE / HELD_BYTES - 1;

  /**
   * One chunk.
   *
   * @param key what it is
   * @param bytes its length
   * @param asks how often it was asked for lately, about, which tells what is worth more
   */
  public record HeldKey(ChunkKey key, long bytes, int asks) {}

  public PoolSnapshot {
    chunks = List.copyOf(chunks);
  }

  /** Whether no chunk is left out, as those are that another process keeps locked. */
  public boolean isWhole() {
    return version != NO_VERSION;
  }

  /**
   * The chunks, none left out.
   *
   * @throws IllegalStateException where the list is not whole
   */
  public List<HeldKey> allChunks() {
    if (!isWhole()) {
      throw new IllegalStateException("another process keeps a part of the pool locked");
    }
    return chunks;
  }

  /**
   * Lists the chunks of a native pool.
   *
   * @param expected about how many there are
   * @throws IllegalStateException when there are more than one buffer can list, 44 million
   */
  static PoolSnapshot take(long pool, long expected) {
    long found = expected;
    long room;
    ByteBuffer memory;
    do { // again when more have come meanwhile than there is room for
      room = found + found / 8 + 64;
      if (room > MOST_LISTED) {
        throw new IllegalStateException("too many chunks for one snapshot: " + found);
      }
      int bytes = Long.BYTES + (int) room * HELD_BYTES;
      memory = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
      long address = NativePool.address(memory);
      found = NativePool.snapshot(pool, address + Long.BYTES, room, address);
    } while (found > room);
    return read(memory, found);
  }

  /** Reads a version and so many C structures oap_held. */
  private static PoolSnapshot read(ByteBuffer memory, long count) {
    long version = memory.getLong();
    List<HeldKey> chunks = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      FileId file = new FileId(memory.getLong(), memory.getLong());
      ChunkKey key = new ChunkKey(file, memory.getInt(), memory.getInt(), memory.getLong());
      chunks.add(new HeldKey(key, memory.getLong(), (int) memory.getLong()));
    }
    return new PoolSnapshot(version, chunks);
  }
}
