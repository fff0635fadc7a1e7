package io.oap.cache;

import io.oap.cache.file.FileRanges;
import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.Pin;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.ChunkAccess;
import io.oap.cache.stats.MissCause;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** One call of {@link ChunkCache#get}. For one thread. */
final class ChunkGet {

  /** A chunk that does not enter the pool. */
  private record Bypass(int index, MissCause why) {}

  private final ChunkCache cache;
  private final List<ChunkRequest> requests;
  private final FileRanges file;
  private final ReadContext context;
  private final CacheCounters counters;
  private final PinnedChunks held;

  /**
   * By index of the request: what came of beginning its load; null before. An array, because
   * nothing may fail between a promise and here.
   */
  private final ChunkLoad[] loads;

  private final List<Bypass> bypassing = new ArrayList<>();

  ChunkGet(
      ChunkCache cache,
      List<ChunkRequest> requests,
      FileRanges file,
      ReadContext context,
      PinnedChunks held) {
    this.cache = cache;
    this.requests = requests;
    this.file = file;
    this.context = context;
    this.counters = context.counters();
    this.held = held;
    this.loads = new ChunkLoad[requests.size()];
  }

  void run() throws IOException {
    try {
      for (int i = 0; i < requests.size(); i++) {
        boolean isHit = hit(i);
        ChunkAccess.record(requests.get(i).key(), requests.get(i).length(), isHit);
        if (!isHit) {
          begin(i);
        }
      }
      read();
    } finally {
      Steps.runAll(loads.length, this::end);
    }
    await();
  }

  private boolean hit(int index) {
    Pin pin = cache.pin(requests.get(index));
    if (pin == null) {
      return false;
    }
    held.put(index, pin);
    cache.onHit(requests.get(index).key(), requests.get(index).length(), context);
    counters.hit(requests.get(index).length());
    tell(index, true, context.admission());
    return true;
  }

  /** Ends the load of a chunk that the tier below the pool has. */
  private void takeFromTier(int index) {
    Pin pin = loads[index].publishFromTier();
    if (pin != null) {
      held.put(index, pin);
      counters.hit(requests.get(index).length());
      tell(index, false, context.admission());
    }
  }

  private void tell(int index, boolean wasHeld, Admission admission) {
    ChunkRequest request = requests.get(index);
    if (context.isAsking()) {
      cache.recordAsk(request.key(), request.length(), request.length(), wasHeld, admission);
    }
  }

  /**
   * A chunk is not admitted for want of free room, which another capacity may have, or by its
   * table's quota, which does not depend on the capacity.
   */
  private void tell(Bypass bypass) {
    boolean isOverQuota =
        bypass.why() == MissCause.NOT_ADMITTED && context.admission() == Admission.EVICTING;
    tell(bypass.index(), false, isOverQuota ? Admission.NEVER : context.admission());
  }

  /** Decides who loads a chunk that is not held: this caller, another one, or nobody. */
  private void begin(int index) {
    ChunkRequest request = requests.get(index);
    ChunkLoad load = loads[index] = cache.begin(request.key(), request.length(), context);
    if (load.hasRoom()) {
      takeFromTier(index);
      return;
    }
    boolean isDecided = load.isLoadedByOthers() || load.isPresent() && hit(index);
    if (!isDecided) {
      bypassing.add(new Bypass(index, load.refusal()));
    }
  }

  /** Reads everything that is to be loaded or bypassed, neighbours in one range. */
  private void read() throws IOException {
    List<Integer> wanted = new ArrayList<>();
    bypassing.forEach(bypass -> wanted.add(bypass.index()));
    List<Integer> loading =
        IntStream.range(0, loads.length).filter(this::isLoading).boxed().toList();
    wanted.addAll(loading);
    if (wanted.isEmpty()) {
      return;
    }
    long start = System.nanoTime();
    long bytes = readInto(wanted);
    bypassing.forEach(bypass -> counters.miss(bypass.why()));
    bypassing.forEach(this::tell);
    loading.forEach(index -> tell(index, false, context.admission()));
    for (int index : loading) {
      ChunkRequest request = requests.get(index);
      boolean isPublished = publish(index);
      if (isPublished && !context.isAsking()) {
        cache.recordEntry(request.key(), request.length());
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
      ByteBuffer chunk = held.buffer(index);
      loads[index].publish(chunk, Checksum.of(chunk));
      return true;
    } catch (RuntimeException | LinkageError e) {
      cache.switchOff(e);
      return false;
    }
  }

  private boolean isLoading(int index) {
    return loads[index] != null && loads[index].hasRoom();
  }

  private void end(int index) {
    if (loads[index] != null) {
      loads[index].close();
    }
  }

  /** Waits for chunks that other callers were loading; what does not come is read here. */
  private void await() throws IOException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(cache.loadTimeoutMillis);
    List<Integer> missing = new ArrayList<>();
    for (int i = 0; i < loads.length; i++) {
      if (loads[i] == null || !loads[i].isLoadedByOthers()) {
        continue;
      }
      try {
        loads[i].awaitOthers(deadline - System.nanoTime());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw (IOException)
            new InterruptedIOException("Interrupted while another task loads the same chunk")
                .initCause(e);
      }
      if (!hit(i)) {
        missing.add(i);
      }
    }
    if (!missing.isEmpty()) {
      long start = System.nanoTime();
      long bytes = readInto(missing);
      missing.forEach(index -> counters.miss(MissCause.OTHER));
      missing.forEach(index -> tell(index, false, context.admission()));
      counters.read(bytes, System.nanoTime() - start);
    }
  }
}
