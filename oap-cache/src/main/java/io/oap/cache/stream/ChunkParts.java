package io.oap.cache.stream;

import io.oap.cache.ChunkCache;
import io.oap.cache.PartialReads;
import io.oap.cache.PinnedChunks;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.HeapRuns;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.LayoutIndex;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Parts of a file's chunks that one read wants, copied out of the cache. Not thread-safe. */
final class ChunkParts {
  /**
   * @param end position behind the part's last byte
   * @param room for its bytes, all of them
   */
  private record Part(long end, ByteBuffer room) {
    long offset() {
      return end - room.limit();
    }

    Range range() {
      return new Range(offset(), room.limit());
    }
  }

  private final ChunkCache chunks;
  private final FileStream file;
  private final ReadContext context;
  private final PartialReads partial;
  private final Map<ChunkRequest, List<Part>> byChunk =
      new TreeMap<>(Comparator.comparingLong(ChunkRequest::offset));
  private final List<Part> uncached = new ArrayList<>();

  ChunkParts(ChunkCache chunks, FileStream file, ReadContext context) {
    this.chunks = chunks;
    this.file = file;
    this.context = context;
    this.partial = new PartialReads(chunks, file, context);
  }

  /** Wants a part of a chunk; {@code room} is filled from its start by {@link #read}. */
  void add(ChunkRequest chunk, long end, ByteBuffer room) {
    byChunk.computeIfAbsent(chunk, c -> new ArrayList<>()).add(new Part(end, room));
  }

  /** Wants bytes of the file that are in no chunk. */
  void addUncached(long end, ByteBuffer room) {
    uncached.add(new Part(end, room));
  }

  /**
   * Reads all that is wanted, in runs: beside the rooms, each byte lies on the heap for a while.
   */
  void read() throws IOException {
    List<ChunkRequest> whole = new ArrayList<>();
    byChunk.forEach(
        (chunk, parts) -> {
          long wanted = bytes(parts);
          if (wanted == chunk.length() || isToBeWarmed(chunk)) {
            whole.add(chunk);
          } else if (!copyIfHeld(chunk, parts, wanted)) {
            if (partial.isWorthLoading(chunk, wanted)) {
              whole.add(chunk);
            } else {
              partial.onBypass(chunk, wanted);
              uncached.addAll(parts);
            }
          }
        });
    for (List<ChunkRequest> run : HeapRuns.of(whole, ChunkRequest::length)) {
      load(run);
    }
    uncached.sort(Comparator.comparingLong(Part::end));
    for (List<Part> run : HeapRuns.of(uncached, part -> part.room().limit())) {
      readUncached(run);
    }
  }

  /** Whether to load a chunk whatever is wanted of it: a query may want another part. */
  private boolean isToBeWarmed(ChunkRequest chunk) {
    return !context.isAsking() && !context.warmed().contains(chunk.key());
  }

  /** Wants nothing any more. */
  void clear() {
    byChunk.clear();
    uncached.clear();
  }

  private static long bytes(List<Part> parts) {
    return parts.stream().mapToLong(part -> part.room().limit()).sum();
  }

  private boolean copyIfHeld(ChunkRequest chunk, List<Part> parts, long wanted) {
    try (PinnedChunks found = chunks.getIfHeld(chunk, context)) {
      if (found == null || found.dropDamaged()) {
        return false;
      }
      partial.onHit(chunk, wanted);
      copy(found.buffer(0), chunk, parts);
      return true;
    }
  }

  private void load(List<ChunkRequest> whole) throws IOException {
    try (PinnedChunks loaded = chunks.get(whole, file, context)) {
      boolean isDamaged = loaded.dropDamaged();
      for (int i = 0; i < whole.size(); i++) {
        List<Part> parts = byChunk.get(whole.get(i));
        if (isDamaged) {
          uncached.addAll(parts);
        } else {
          copy(loaded.buffer(i), whole.get(i), parts);
        }
      }
    }
  }

  private static void copy(ByteBuffer bytes, ChunkRequest chunk, List<Part> parts) {
    for (Part part : parts) {
      int at = bytes.position() + Math.toIntExact(part.offset() - chunk.offset());
      part.room().put(bytes.slice(at, part.room().limit()));
    }
  }

  private void readUncached(List<Part> parts) throws IOException {
    long start = System.nanoTime();
    List<ByteBuffer> buffers = file.read(parts.stream().map(Part::range).toList());
    context.counters().read(bytes(parts), System.nanoTime() - start);
    for (int i = 0; i < buffers.size(); i++) {
      parts.get(i).room().put(buffers.get(i));
    }
  }

  /** As {@link PartialReads#structure}. */
  byte[] structure(Range range, LayoutIndex index) throws IOException {
    return partial.structure(range, index);
  }
}
