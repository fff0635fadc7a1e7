package io.oap.cache;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import io.oap.cache.FileRanges.Range;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.pool.Reservation;
import io.oap.cache.pool.Reservation.Outcome;
import io.oap.common.ChunkKey;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Column chunks by key: from the pool when it holds them, else loaded into it once, else read
 * around it. Thread-safe.
 *
 * <p>A request ends in one of four ways. <em>Hit</em>: the chunk is pinned where it lies.
 * <em>Miss</em>: this caller reserves room, reads the file and publishes. <em>Wait</em>: another
 * caller is loading the chunk; after that it is a hit, or a bypass when the load failed or took
 * longer than the time allowed. <em>Bypass</em>: the pool has no room for the chunk, and the bytes
 * go to the caller only. A caller finishes all its own loads before it waits for anybody, so that
 * two callers can never wait for each other.
 *
 * <p>The pool may fail in any way without failing a request: the first fault is logged, and from
 * then on everything is read around it.
 */
public final class ChunkCache {
  private static final Logger LOG = LoggerFactory.getLogger(ChunkCache.class);

  /** Chunks remembered as wanted in part: a few megabytes of heap. */
  private static final int ASKED_IN_PART = 1 << 15;

  private final ColumnPool pool;
  private final long loadTimeoutMillis;
  private final ConcurrentMap<ChunkKey, CountDownLatch> loads;
  private final Cache<ChunkKey, Boolean> askedInPart;
  private final AtomicReference<Throwable> fault;
  private final boolean displaces;

  /**
   * @param pool where chunks are kept; the caller closes it
   * @param loadTimeoutMillis how long to wait for another caller's load of the same chunk
   */
  public ChunkCache(ColumnPool pool, long loadTimeoutMillis) {
    this.pool = pool;
    this.loadTimeoutMillis = loadTimeoutMillis;
    this.loads = new ConcurrentHashMap<>();
    this.askedInPart = CacheBuilder.newBuilder().maximumSize(ASKED_IN_PART).build();
    this.fault = new AtomicReference<>();
    this.displaces = true;
  }

  private ChunkCache(ChunkCache host) {
    this.pool = host.pool;
    this.loadTimeoutMillis = host.loadTimeoutMillis;
    this.loads = host.loads;
    this.askedInPart = host.askedInPart;
    this.fault = host.fault;
    this.displaces = false;
  }

  /**
   * The same cache for readers whose chunks belong elsewhere: they hit what is there, and put what
   * they load into room that is free, but nothing leaves the pool for them.
   */
  ChunkCache forGuests() {
    return new ChunkCache(this);
  }

  /** Whether a chunk may enter the pool. */
  boolean admits(long bytes) {
    return displaces || bytes <= free();
  }

  /** Bytes of the pool that no chunk has. */
  long free() {
    PoolStats stats = pool.stats();
    return stats.capacityBytes() - stats.usedBytes();
  }

  /** Why the pool is not used any more, or null while it works. */
  public Throwable fault() {
    return fault.get();
  }

  /**
   * Gets chunks of one file.
   *
   * @param requests disjoint chunks of one file, in any order
   * @param file where to read what is not held
   * @param counters moved as described there
   * @return the bytes, in the order of the requests; to be closed by the caller
   * @throws IOException when the file cannot be read, as the file system said it; nothing that was
   *     not read in full is published, and no pin stays
   * @throws InterruptedIOException when the thread is interrupted while it waits; it stays so
   */
  public HeldChunks get(List<ChunkRequest> requests, FileRanges file, CacheCounters counters)
      throws IOException {
    HeldChunks held = new HeldChunks(requests.size(), this::unpin);
    boolean complete = false;
    try {
      new Getting(requests, file, counters, held).run();
      complete = true;
      return held;
    } finally {
      if (!complete) {
        held.close();
      }
    }
  }

  /**
   * A chunk if it is in the pool now; never loads or waits.
   *
   * @return the chunk as the only buffer, or null
   */
  public HeldChunks getIfHeld(ChunkKey key) {
    Pin pin = pin(key);
    if (pin == null) {
      return null;
    }
    ChunkAccess.record(key, pin.bytes(), true);
    HeldChunks held = new HeldChunks(1, this::unpin);
    held.put(0, pin);
    return held;
  }

  /** Whether this question was asked of the chunk before, as far as a bounded memory tells. */
  public boolean isAskedAgain(ChunkKey key) {
    return askedInPart.asMap().putIfAbsent(key, Boolean.TRUE) != null;
  }

  /** Pins a chunk if the pool holds it and has not failed; else null. */
  Pin pin(ChunkKey key) {
    if (fault() != null) {
      return null;
    }
    try {
      return pool.pin(key);
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
      return null;
    }
  }

  /** Ends a pin; a pool that fails to is given up, and the caller does not hear of it. */
  void unpin(Pin pin) {
    try {
      pin.close();
    } catch (RuntimeException | LinkageError e) {
      switchOff(e);
    }
  }

  /** Gives the pool up for the rest of the process. */
  void switchOff(Throwable cause) {
    if (!fault.compareAndSet(null, cause)) {
      return;
    }
    LOG.warn(
        "The column chunk pool failed and is not used any more by this process; queries go on,"
            + " reading files without it.",
        cause);
  }

  /** A chunk this caller has promised to load: its index among the requests, and its room. */
  private record Load(int index, Reservation room, CountDownLatch done) {}

  /** A chunk another caller is loading. */
  private record Wait(int index, CountDownLatch done) {}

  /** One call of {@link #get}. */
  private final class Getting {
    private final List<ChunkRequest> requests;
    private final FileRanges file;
    private final CacheCounters counters;
    private final HeldChunks held;
    private final List<Load> loading = new ArrayList<>();
    private final List<Integer> bypassing = new ArrayList<>();
    private final List<Wait> waiting = new ArrayList<>();

    Getting(List<ChunkRequest> requests, FileRanges file, CacheCounters counters, HeldChunks held) {
      this.requests = requests;
      this.file = file;
      this.counters = counters;
      this.held = held;
    }

    void run() throws IOException {
      try {
        for (int i = 0; i < requests.size(); i++) {
          boolean isHit = hit(i);
          ChunkAccess.record(requests.get(i).key(), requests.get(i).length(), isHit);
          if (!isHit) {
            reserve(i);
          }
        }
        read();
      } finally {
        abandonUnpublished();
      }
      await();
    }

    private boolean hit(int index) {
      Pin pin = pin(requests.get(index).key());
      if (pin == null) {
        return false;
      }
      held.put(index, pin);
      counters.hit(requests.get(index).length());
      return true;
    }

    /** Decides who loads a chunk that is not held: this caller, another one, or nobody. */
    private void reserve(int index) {
      ChunkRequest request = requests.get(index);
      if (fault() != null) {
        bypassing.add(index);
        return;
      }
      CountDownLatch done = new CountDownLatch(1);
      CountDownLatch others = loads.putIfAbsent(request.key(), done);
      if (others != null) {
        waiting.add(new Wait(index, others));
        return;
      }
      Outcome outcome = null;
      try {
        if (admits(request.length())) {
          Reservation room = pool.reserve(request.key(), request.length());
          outcome = room.outcome();
          if (outcome == Outcome.RESERVED) {
            loading.add(new Load(index, room, done));
          }
        }
      } catch (RuntimeException | LinkageError e) {
        switchOff(e);
      } finally {
        if (outcome != Outcome.RESERVED) {
          loads.remove(request.key(), done);
          done.countDown();
        }
      }
      if (outcome != Outcome.RESERVED && !(outcome == Outcome.PRESENT && hit(index))) {
        bypassing.add(index);
      }
    }

    /** Reads everything that is to be loaded or bypassed, neighbours in one range. */
    private void read() throws IOException {
      List<Integer> wanted = new ArrayList<>(bypassing);
      loading.forEach(load -> wanted.add(load.index()));
      if (wanted.isEmpty()) {
        return;
      }
      long start = System.nanoTime();
      long bytes = readInto(wanted);
      bypassing.forEach(index -> counters.bypass());
      for (Load load : loading) {
        if (publish(load)) {
          counters.miss();
        } else {
          counters.bypass();
        }
      }
      counters.read(bytes, System.nanoTime() - start);
    }

    /** Reads these requests for the caller; returns how many bytes. */
    private long readInto(List<Integer> wanted) throws IOException {
      wanted.sort(Comparator.comparingLong(index -> requests.get(index).offset()));
      List<Range> ranges = new ArrayList<>();
      for (int index : wanted) {
        ChunkRequest next = requests.get(index);
        Range last = ranges.isEmpty() ? null : ranges.get(ranges.size() - 1);
        if (last != null
            && last.offset() + last.length() == next.offset()
            && (long) last.length() + next.length() < Integer.MAX_VALUE) {
          ranges.set(ranges.size() - 1, new Range(last.offset(), last.length() + next.length()));
        } else {
          ranges.add(new Range(next.offset(), next.length()));
        }
      }
      List<ByteBuffer> buffers = file.read(ranges);
      int r = 0;
      for (int index : wanted) {
        ChunkRequest request = requests.get(index);
        while (request.offset() >= ranges.get(r).offset() + ranges.get(r).length()) {
          r++;
        }
        int at = Math.toIntExact(request.offset() - ranges.get(r).offset());
        held.put(index, buffers.get(r).slice(buffers.get(r).position() + at, request.length()));
      }
      return ranges.stream().mapToLong(Range::length).sum();
    }

    /** Copies a chunk that was read into its room. The caller goes on with its own buffer. */
    private boolean publish(Load load) {
      try {
        ByteBuffer source = held.buffer(load.index());
        for (int i = 0; i < load.room().pieces(); i++) {
          ByteBuffer piece = load.room().piece(i);
          int bytes = Math.min(piece.remaining(), source.remaining());
          piece.put(source.slice(source.position(), bytes));
          source.position(source.position() + bytes);
        }
        load.room().publish().close();
        return true;
      } catch (RuntimeException | LinkageError e) {
        switchOff(e);
        return false;
      }
    }

    private void abandonUnpublished() {
      for (Load load : loading) {
        try {
          load.room().close();
        } catch (RuntimeException | LinkageError e) {
          switchOff(e);
        } finally {
          loads.remove(requests.get(load.index()).key(), load.done());
          load.done().countDown();
        }
      }
    }

    /** Waits for chunks that other callers were loading; what does not come is read here. */
    private void await() throws IOException {
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(loadTimeoutMillis);
      List<Integer> missing = new ArrayList<>();
      for (Wait wait : waiting) {
        try {
          wait.done().await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw (IOException)
              new InterruptedIOException("Interrupted while another task loads the same chunk")
                  .initCause(e);
        }
        if (!hit(wait.index())) {
          missing.add(wait.index());
        }
      }
      if (!missing.isEmpty()) {
        long start = System.nanoTime();
        long bytes = readInto(missing);
        missing.forEach(index -> counters.bypass());
        counters.read(bytes, System.nanoTime() - start);
      }
    }
  }
}
