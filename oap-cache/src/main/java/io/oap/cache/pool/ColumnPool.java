package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A fixed amount of off-heap memory that holds column chunks; the Java face of
 * native/include/oap_pool.h, where the rules stand.
 *
 * <p>Thread-safe, {@link #close} included: a closed pool answers like an empty one without room. A
 * hit ({@link #pin}) takes no lock and allocates one object.
 */
public final class ColumnPool implements AutoCloseable {
  /** No piece crosses a multiple of this position, so one buffer per window reaches all pieces. */
  static final long WINDOW_BYTES = 1L << 30;

  private static final int MOST_NODES = 64;
  private static final Cleaner CLEANER = Cleaner.create();
  private static final Logger LOG = LoggerFactory.getLogger(ColumnPool.class);

  /** Where a pool comes from that outlives its process; null for one that does not. */
  public final PoolOrigin origin;

  private final long pool;
  final ByteBuffer[] windows;
  final ByteBuffer[] readOnlyWindows;
  final LostWrites lostWrites;
  private volatile boolean closed;

  private ColumnPool(long pool, String place, BiFunction<Long, Integer, ByteBuffer> window) {
    this.pool = pool;
    lostWrites = new LostWrites(pool, place);
    origin = PoolOrigin.of(pool);
    List<ByteBuffer> list = new ArrayList<>();
    for (ByteBuffer w; (w = window.apply(pool, list.size())) != null; ) {
      list.add(w);
    }
    windows = list.toArray(ByteBuffer[]::new);
    readOnlyWindows = list.stream().map(ByteBuffer::asReadOnlyBuffer).toArray(ByteBuffer[]::new);
    // close() gives the memory back; the tables go when no thread can be in a call any more.
    CLEANER.register(this, () -> NativePool.close(pool));
  }

  /**
   * Opens a pool. Loads the native library if need be.
   *
   * @throws PoolException when the library cannot be loaded or the memory cannot be had
   */
  public static ColumnPool open(PoolOptions options) throws PoolException {
    return open(options, NativePool::window);
  }

  /** Opens a pool whose windows come, by their number, from a function; null is behind the last. */
  static ColumnPool open(PoolOptions options, BiFunction<Long, Integer, ByteBuffer> window) {
    NativeLibrary.ensureLoaded();
    long[] pool = new long[1];
    int error = -options.openNative(pool);
    if (error != 0) {
      throw new PoolException(error, OpenFault.text(options, error));
    }
    ColumnPool opened;
    try {
      opened = new ColumnPool(pool[0], options.place(), window);
    } catch (Throwable e) {
      NativePool.close(pool[0]);
      throw e;
    }
    if (options.erased() && options.medium() == Medium.DEVDAX) {
      Runtime.getRuntime()
          .addShutdownHook(new Thread(() -> opened.closeAtExit(options.place()), "oap-erase"));
    }
    return opened;
  }

  /**
   * Changes the capacity of a pool in use, to at most eight times what it was opened with.
   *
   * <p>Growing takes the memory or disk space at once. Shrinking gives memory back to the system:
   * chunks that lie in it are evicted; those in use are dropped, read on by whoever holds them, and
   * their memory goes back with the last pin.
   *
   * @param bytes as {@link PoolOptions#capacityBytes}
   * @throws PoolException when the pool cannot have that capacity, or is closed; it is as before
   */
  public void resize(long bytes) throws PoolException {
    int error = -NativePool.resize(pool, bytes);
    Reference.reachabilityFence(this);
    if (error != 0) {
      throw new PoolException(error, OpenFault.resizeText(bytes, error));
    }
  }

  /** Asks for memory for a chunk that is to be loaded. Makes room by evicting if need be. */
  public Reservation reserve(ChunkKey key, long bytes) {
    return reserve(key, bytes, Admission.EVICTING, 0);
  }

  /**
   * Asks for memory for a chunk. Where it is {@link Admission#IF_FREE}, nothing is evicted but what
   * was asked for less often than a chunk that another pool hands over.
   *
   * @param asks how many asks that pool has counted, which count here from now on; else 0
   * @return never null; {@link Reservation#outcome} says what came of it
   */
  public Reservation reserve(ChunkKey key, long bytes, Admission admission, int asks) {
    if (bytes < 1) {
      throw new IllegalArgumentException("a chunk has at least one byte, got " + bytes);
    }
    if (closed || admission == Admission.NEVER) {
      return new Reservation(closed ? Reservation.Outcome.SHUT : Reservation.Outcome.NO_ROOM);
    }
    ChunkStruct memory = ChunkStruct.ofThread();
    int error =
        -NativePool.reserve(
            pool,
            key.file().high(),
            key.file().low(),
            key.groupAndColumn(),
            key.representation(),
            bytes,
            admission == Admission.EVICTING,
            asks,
            memory.address);
    Reference.reachabilityFence(this);
    if (error == 0) {
      return Reservation.of(this, memory);
    }
    lostWrites.tellIfThere();
    return new Reservation(Reservation.Outcome.refusal(error));
  }

  /** Pins a published chunk and counts a use of it; null when it is not held. */
  public Pin pin(ChunkKey key) {
    return pin(key, true);
  }

  /** Pins a published chunk for a check, without counting a use; null when it is not held. */
  public Pin pinUnused(ChunkKey key) {
    return pin(key, false);
  }

  private Pin pin(ChunkKey key, boolean isUse) {
    if (closed) {
      return null;
    }
    ChunkStruct memory = ChunkStruct.ofThread();
    int result =
        NativePool.pin(
            pool,
            key.file().high(),
            key.file().low(),
            key.groupAndColumn(),
            key.representation(),
            isUse,
            memory.address);
    Reference.reachabilityFence(this);
    return result == 0 ? Pin.of(this, memory) : null;
  }

  /** The native pool, for what is built on it elsewhere; good while this is reachable. */
  public long address() {
    return pool;
  }

  /** Whether a chunk is published. Does not count as a use. */
  public boolean isHeld(ChunkKey key) {
    FileId file = key.file();
    boolean held =
        !closed
            && NativePool.isHeld(
                pool, file.high(), file.low(), key.groupAndColumn(), key.representation());
    Reference.reachabilityFence(this);
    return held;
  }

  /**
   * Makes a chunk invisible at once and frees it with its last pin. One that is being loaded will
   * be seen by its loader only.
   *
   * @return whether it was published or being loaded
   */
  public boolean drop(ChunkKey key) {
    FileId file = key.file();
    boolean dropped =
        !closed
            && NativePool.drop(
                    pool, file.high(), file.low(), key.groupAndColumn(), key.representation())
                == 0;
    Reference.reachabilityFence(this);
    return dropped;
  }

  /** Drops every chunk of a file; returns how many there were. */
  public long drop(FileId file) {
    long dropped = closed ? 0 : NativePool.dropFile(pool, file.high(), file.low());
    Reference.reachabilityFence(this);
    return dropped;
  }

  /** Drops every chunk. */
  public void clear() {
    if (!closed) {
      NativePool.clear(pool);
    }
    Reference.reachabilityFence(this);
  }

  /** Figures since open; also those of a closed pool. */
  public PoolStats stats() {
    long[] figures = new long[PoolStats.COUNT];
    NativePool.stats(pool, figures);
    Reference.reachabilityFence(this);
    return PoolStats.of(figures);
  }

  /** Whether a disk has lost writes: pinned chunks may not be what they were any more. */
  public boolean hasLostWrites() {
    boolean hasLost = lostWrites.areThere();
    Reference.reachabilityFence(this);
    return hasLost;
  }

  /**
   * How many bytes of the pool's memory lie on each memory node, by node number; an estimate for a
   * large pool. Pages that were never touched are on none, and devices tell of none. Empty when the
   * system does not tell. Takes a millisecond or so.
   */
  public SortedMap<Integer, Long> bytesOnNodes() {
    long[] bytes = new long[MOST_NODES];
    int error = NativePool.nodes(pool, bytes);
    Reference.reachabilityFence(this);
    SortedMap<Integer, Long> nodes = new TreeMap<>();
    for (int node = 0; error == 0 && node < MOST_NODES; node++) {
      if (bytes[node] > 0) {
        nodes.put(node, bytes[node]);
      }
    }
    return nodes;
  }

  /** A number that grows whenever a chunk becomes visible or stops being so. */
  public long contentVersion() {
    long version = NativePool.contentVersion(pool);
    Reference.reachabilityFence(this);
    return version;
  }

  /**
   * Lists the published chunks.
   *
   * @throws IllegalStateException when there are more than one buffer can list, 44 million
   */
  public PoolSnapshot snapshot() {
    PoolSnapshot snapshot = PoolSnapshot.take(pool, stats().chunks());
    Reference.reachabilityFence(this);
    return snapshot;
  }

  /**
   * Checks the pool's inner structure, for tests. No other thread may use the pool meanwhile.
   *
   * @throws IllegalStateException saying what is wrong
   */
  public void validate() {
    String fault = NativePool.validate(pool);
    Reference.reachabilityFence(this);
    if (fault != null) {
      throw new IllegalStateException(fault);
    }
  }

  /**
   * Empties the pool and gives its memory back to the system. Further calls do nothing.
   *
   * @throws PoolException with EBUSY, while pins or reservations are open; the pool stays open
   */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    int error = -NativePool.retire(pool);
    if (error == Errno.EBUSY) {
      throw new PoolException(
          error,
          "Cannot close the pool: "
              + stats().pinnedChunks()
              + " chunks are pinned or reserved; close every Pin and Reservation first");
    }
    require("close", -error);
    closed = true;
  }

  /** What is in use cannot be erased; the next pool on the device does that. */
  private void closeAtExit(String place) {
    try {
      close();
    } catch (PoolException e) {
      LOG.warn("The devices of the pool in {} are not erased: {}", place, e.getMessage());
    }
  }

  void publish(Reservation room) {
    require("publish", NativePool.publish(pool, room.slotAndGeneration, room.shard, room.length));
  }

  void setNote(Reservation room, long note) {
    require("keep a note", NativePool.setNote(pool, room.slotAndGeneration, room.shard, note));
  }

  long note(Pin pin) {
    long note = NativePool.note(pool, pin.slotAndGeneration, pin.shard);
    Reference.reachabilityFence(this);
    return note;
  }

  void abandon(long slotAndGeneration, int shard, long length) {
    require("abandon", NativePool.abandon(pool, slotAndGeneration, shard, length));
  }

  void unpin(long slotAndGeneration, int shard, long length) {
    require("unpin", NativePool.unpin(pool, slotAndGeneration, shard, length));
  }

  private void require(String what, int result) {
    Reference.reachabilityFence(this);
    if (result != 0) {
      throw PoolException.defect(what, -result);
    }
  }
}
