package io.oap.cache;

import io.oap.cache.FileRanges.Range;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import io.oap.cache.pool.Reservation.Outcome;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.ChunkAccess;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** One call of {@link ChunkCache#get}. For one thread. */
final class ChunkGet {

  /** A chunk another caller is loading. */
  private record Wait(int index, CountDownLatch done) {}

  /** A chunk that does not enter the pool. */
  private record Bypass(int index, MissCause why) {}

  private final ChunkCache cache;
  private final List<ChunkRequest> requests;
  private final FileRanges file;
  private final CacheCounters counters;
  private final PinnedChunks held;
  private final boolean isAsked;

  // By index of the request: of chunks that this caller has promised to load the latch that others
  // wait for and the room, else null. Arrays, because nothing may fail between a promise and here.
  private final CountDownLatch[] promised;
  private final Reservation[] rooms;

  private final List<Bypass> bypassing = new ArrayList<>();
  private final List<Wait> waiting = new ArrayList<>();

  /**
   * @param isAsked whether a reader wants the chunks, rather than somebody who sees to it that they
   *     are there
   */
  ChunkGet(
      ChunkCache cache,
      List<ChunkRequest> requests,
      FileRanges file,
      CacheCounters counters,
      PinnedChunks held,
      boolean isAsked) {
    this.cache = cache;
    this.requests = requests;
    this.file = file;
    this.counters = counters;
    this.held = held;
    this.isAsked = isAsked;
    this.promised = new CountDownLatch[requests.size()];
    this.rooms = new Reservation[requests.size()];
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
      endLoads();
    }
    await();
  }

  private boolean hit(int index) {
    Pin pin = cache.pin(requests.get(index));
    if (pin == null) {
      return false;
    }
    held.put(index, pin);
    cache.isFound(requests.get(index).key(), requests.get(index).length());
    counters.hit(requests.get(index).length());
    tell(index, true);
    return true;
  }

  private void tell(int index, boolean wasHeld) {
    ChunkRequest request = requests.get(index);
    if (isAsked) {
      cache.asked(request.key(), request.length(), request.length(), wasHeld);
    }
  }

  private void tell(Bypass bypass) {
    ChunkRequest request = requests.get(bypass.index());
    if (isAsked && bypass.why() == MissCause.NOT_ADMITTED) {
      cache.refused(request.key(), request.length());
    } else {
      tell(bypass.index(), false);
    }
  }

  /** Decides who loads a chunk that is not held: this caller, another one, or nobody. */
  private void reserve(int index) {
    ChunkRequest request = requests.get(index);
    if (cache.fault() != null) {
      bypassing.add(new Bypass(index, MissCause.OTHER));
      return;
    }
    CountDownLatch done = new CountDownLatch(1);
    CountDownLatch others = cache.loads.putIfAbsent(request.key(), done);
    if (others != null) {
      waiting.add(new Wait(index, others));
      return;
    }
    promised[index] = done;
    Outcome outcome = null;
    boolean isAdmitted = true;
    try {
      isAdmitted = cache.admits(request.key(), request.length());
      if (isAdmitted) {
        rooms[index] = cache.reserve(request.key(), request.length());
        outcome = rooms[index].outcome();
      }
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
    }
    if (outcome != Outcome.RESERVED) {
      endLoad(index);
      if (!(outcome == Outcome.PRESENT && hit(index))) {
        bypassing.add(new Bypass(index, isAdmitted ? why(outcome) : MissCause.NOT_ADMITTED));
      }
    }
  }

  private MissCause why(Outcome refusal) {
    if (refusal == Outcome.NO_ROOM) {
      return cache.displaces ? MissCause.PINNED_FULL : MissCause.NOT_ADMITTED;
    }
    return refusal == Outcome.TOO_LARGE ? MissCause.TOO_LARGE : MissCause.OTHER;
  }

  /** Reads everything that is to be loaded or bypassed, neighbours in one range. */
  private void read() throws IOException {
    List<Integer> wanted = new ArrayList<>();
    bypassing.forEach(bypass -> wanted.add(bypass.index()));
    List<Integer> loading =
        IntStream.range(0, promised.length).filter(this::isLoading).boxed().toList();
    wanted.addAll(loading);
    if (wanted.isEmpty()) {
      return;
    }
    long start = System.nanoTime();
    long bytes = readInto(wanted);
    bypassing.forEach(bypass -> counters.miss(bypass.why()));
    bypassing.forEach(this::tell);
    loading.forEach(index -> tell(index, false));
    for (int index : loading) {
      ChunkRequest request = requests.get(index);
      boolean isPublished = publish(index);
      if (isPublished && !isAsked) {
        cache.entered(request.key(), request.length());
      }
      counters.miss(isPublished ? cache.loaded.load(request.key()) : MissCause.OTHER);
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
  private boolean publish(int index) {
    try {
      Reservation room = rooms[index];
      ByteBuffer source = held.buffer(index);
      for (int i = 0; i < room.pieces(); i++) {
        ByteBuffer piece = room.piece(i);
        int bytes = Math.min(piece.remaining(), source.remaining());
        piece.put(source.slice(source.position(), bytes));
        source.position(source.position() + bytes);
      }
      room.setNote(Checksum.of(held.buffer(index)));
      room.publish().close();
      ChunkRequest loaded = requests.get(index);
      cache.isLoaded(loaded.key(), null, loaded.length());
      return true;
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
      return false;
    }
  }

  private boolean isLoading(int index) {
    return promised[index] != null;
  }

  /** Ends all loads, whatever becomes of any of them. */
  private void endLoads() {
    Error error = null;
    for (int i = 0; i < promised.length; i++) {
      try {
        endLoad(i);
      } catch (Error e) { // such as a lack of memory
        error = e;
      }
    }
    if (error != null) {
      throw error;
    }
  }

  /** Ends a load that this caller has promised; it is abandoned unless it was published. */
  private void endLoad(int index) {
    if (!isLoading(index)) {
      return;
    }
    ChunkKey key = requests.get(index).key();
    CountDownLatch done = promised[index];
    promised[index] = null;
    try {
      closeRoom(rooms[index]);
    } finally {
      try {
        cache.limits.abandon(key);
      } finally {
        cache.loads.remove(key, done);
        done.countDown();
      }
    }
  }

  private void closeRoom(Reservation room) {
    try {
      if (room != null) {
        room.close();
      }
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
    }
  }

  /** Waits for chunks that other callers were loading; what does not come is read here. */
  private void await() throws IOException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(cache.loadTimeoutMillis);
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
      missing.forEach(index -> counters.miss(MissCause.OTHER));
      missing.forEach(index -> tell(index, false));
      counters.read(bytes, System.nanoTime() - start);
    }
  }
}
