package io.oap.cache;

import io.oap.cache.pool.Admission;
import io.oap.cache.pool.OtherProcesses;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import io.oap.cache.pool.Reservation.Outcome;
import io.oap.cache.stats.Figure;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import java.nio.ByteBuffer;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A chunk on its way into the pool, from the promise to load it to its publication. Other callers
 * that want the chunk meanwhile wait for the end of this. Closing it before {@link #publish} takes
 * everything back: the promise, the memory, and the place in its table's quota. For one thread.
 *
 * <pre>{@code
 * try (ChunkLoad load = cache.begin(key, bytes, context)) {
 *   if (load.hasRoom()) {
 *     // fill load.room()
 *     load.publish(checksum);
 *   }
 * }
 * }</pre>
 */
final class ChunkLoad implements AutoCloseable {
  private final ChunkCache cache;
  private final ChunkKey key;
  private final long bytes;
  private final ChunkKey insteadOf;
  private final long insteadOfBytes;
  private final int asks;
  private final ReadContext context;

  /** Whether it only asks for room: then its table's quota has been asked already. */
  private final boolean isQuestion;

  private final CountDownLatch done = new CountDownLatch(1);
  private CountDownLatch others;
  private boolean isPromised;
  private Reservation room;
  private MissCause refusal = MissCause.OTHER;

  /**
   * Promises to load a chunk, and asks for room for it. To be closed, whatever came of it.
   *
   * @param insteadOf the chunk that it stands for and whose place it takes; or null
   * @param insteadOfBytes length of that one
   * @param asks how often the pool that hands it over has counted an ask for it; else 0
   */
  ChunkLoad(
      ChunkCache cache,
      ChunkKey key,
      long bytes,
      ChunkKey insteadOf,
      long insteadOfBytes,
      int asks,
      ReadContext context) {
    this(cache, key, bytes, insteadOf, insteadOfBytes, asks, context, false);
  }

  private ChunkLoad(
      ChunkCache cache,
      ChunkKey key,
      long bytes,
      ChunkKey insteadOf,
      long insteadOfBytes,
      int asks,
      ReadContext context,
      boolean isQuestion) {
    this.cache = cache;
    this.key = key;
    this.bytes = bytes;
    this.insteadOf = insteadOf;
    this.insteadOfBytes = insteadOfBytes;
    this.asks = asks;
    this.context = context;
    this.isQuestion = isQuestion;
    boolean hasBegun = false;
    try {
      reserve();
      hasBegun = hasRoom();
    } finally {
      if (!hasBegun) {
        close(); // nobody need wait for it
      }
    }
  }

  /**
   * Whether a chunk that a reader wants would enter the pool if it were loaded now, or somebody
   * loads it. Where it would not, that is a miss of its table: the reader goes around the pool.
   * What would leave for the chunk may leave for the question.
   */
  static boolean isAdmitted(ChunkCache cache, ChunkKey key, long bytes, ReadContext context) {
    if (cache.loads.containsKey(key)) {
      return true;
    }
    try (ChunkLoad load = cache.begin(key, bytes, context)) {
      return load.isWelcome();
    }
  }

  /** Whether {@link #isAdmitted} would say so of a chunk that a reader wants next. No miss. */
  static boolean wouldBeAdmitted(ChunkCache cache, ChunkKey key, long bytes, ReadContext context) {
    if (cache.loads.containsKey(key)) {
      return true;
    }
    if (!isWithinQuota(cache, key, bytes, context)) {
      return false;
    }
    try (ChunkLoad load = new ChunkLoad(cache, key, bytes, null, 0, 0, context, true)) {
      return load.isWelcome();
    }
  }

  private boolean isWelcome() {
    return hasRoom() || isPresent() || isLoadedByOthers();
  }

  /** Whether the quota of a chunk's table would admit it now. Counts nothing. */
  static boolean isWithinQuota(ChunkCache cache, ChunkKey key, long bytes, ReadContext context) {
    try {
      return cache.fault() == null && cache.quotas.wouldAdmit(key, bytes, context.admission());
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
      return false;
    }
  }

  private void reserve() {
    if (cache.fault() != null) {
      return;
    }
    others = cache.loads.putIfAbsent(key, done);
    isPromised = others == null;
    if (!isPromised) {
      return;
    }
    try {
      if (isQuestion || cache.quotas.admit(key, insteadOf, bytes, context.admission())) {
        room = cache.leaving.reserve(key, bytes, context.admission(), asks);
        refusal = why(room.outcome());
      } else {
        refusal = MissCause.NOT_ADMITTED;
      }
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
    }
  }

  private MissCause why(Outcome outcome) {
    return switch (outcome) {
      case NO_ROOM ->
          context.admission() == Admission.EVICTING
              ? MissCause.PINNED_FULL
              : MissCause.NOT_ADMITTED;
      case TOO_LARGE -> MissCause.TOO_LARGE;
      default -> MissCause.OTHER;
    };
  }

  /** Whether there is memory for the chunk, which this caller is to fill. */
  boolean hasRoom() {
    return isPromised && room != null && room.outcome() == Outcome.RESERVED;
  }

  /** Whether the pool holds the chunk by now. */
  boolean isPresent() {
    return room != null && room.outcome() == Outcome.PRESENT;
  }

  /** Whether another caller, of this process or another, is loading the chunk. */
  boolean isLoadedByOthers() {
    return others != null || room != null && room.outcome() == Outcome.LOADING;
  }

  /**
   * Waits until another caller has ended its load of the chunk, well or not, or the time is over.
   */
  void awaitOthers(long nanos) throws InterruptedException {
    if (others != null) {
      others.await(nanos, TimeUnit.NANOSECONDS);
    } else if (isLoadedByOthers() && nanos > 0) {
      new OtherProcesses(cache.pool).awaitLoad(key, nanos);
    }
  }

  /** Why the chunk does not enter the pool, where this caller is not to load it. */
  MissCause refusal() {
    return refusal;
  }

  /**
   * The memory to fill.
   *
   * @throws IllegalStateException where there is none, or not any more
   */
  Reservation room() {
    if (!hasRoom()) {
      throw new IllegalStateException("no room for " + key + ": " + refusal);
    }
    return room;
  }

  /**
   * Makes the chunk visible to all readers. All of the room must have been filled.
   *
   * @param checksum of the chunk, as {@link Checksum} computes it
   * @throws IllegalStateException where there is no room, or not any more
   */
  void publish(long checksum) {
    publishPinned(checksum).close();
    cache.tier.onLoaded(key, insteadOf == null);
  }

  /**
   * Fills the room from the tier below the pool, publishes the chunk and ends the load.
   *
   * @return the chunk's pin; null where it is not there, and then there still is room to fill
   */
  Pin publishFromTier() {
    try {
      OptionalLong checksum = cache.tier.fill(key, room());
      if (checksum.isEmpty()) {
        return null;
      }
      Pin pin = publishPinned(checksum.getAsLong());
      cache.tier.onLoaded(key, false);
      context.counters().add(Figure.HITS_FROM_TIER, 1);
      context.counters().add(Figure.BYTES_FROM_TIER, bytes);
      close();
      return pin;
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
      return null;
    }
  }

  private Pin publishPinned(long checksum) {
    room().setNote(checksum);
    Pin pin = room.publish();
    try {
      cache.onLoaded(key, insteadOf, bytes, context);
      if (insteadOf != null) {
        cache.replace(insteadOf, key, bytes);
      }
      return pin;
    } catch (Throwable e) {
      pin.close();
      throw e;
    }
  }

  /**
   * Copies the chunk into its room and publishes it.
   *
   * @param chunk its bytes, between position and limit, which stay where they are
   * @param checksum as above
   */
  void publish(ByteBuffer chunk, long checksum) {
    room().fill(chunk);
    publish(checksum);
  }

  /** Ends the load; what was not published is given back. Closing again does nothing. */
  @Override
  public void close() {
    if (!isPromised) {
      return;
    }
    isPromised = false;
    try {
      closeRoom();
    } finally {
      try {
        cache.quotas.abandon(key, insteadOf, insteadOfBytes); // nothing, where it was published
      } finally {
        cache.loads.remove(key, done);
        done.countDown();
      }
    }
  }

  private void closeRoom() {
    try {
      if (room != null) {
        room.close();
      }
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
    }
  }
}
