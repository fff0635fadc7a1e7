package io.oap.cache.parquet;

import io.oap.cache.ChunkCache;
import io.oap.cache.PartialReads;
import io.oap.cache.PinnedChunks;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.MetadataCache;
import io.oap.cache.layout.ChunkRequest;
import io.oap.common.FileId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.io.ParquetFileRange;

/**
 * A Parquet file as Parquet's own reader sees it, with its column chunks served from the cache. Not
 * thread-safe.
 *
 * <p>Parquet's reader asks in two ways. A row group's columns come as one vectored read, with a
 * range for each chunk, or for each run of pages where the page index has ruled others out; held
 * chunks are handed out as slices of the pool, without a copy, and stay pinned until the next row
 * group is read or {@link #close}; a row group that is read once more has the bytes of before.
 * Dictionary pages, bloom filters and page indexes come as small sequential reads; those go through
 * the footer cache. All else is read from the file.
 */
public final class CachedParquetStream extends ParquetFileStream {
  private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

  private final FileId id;
  private final CachedFooter footer;
  private final MetadataCache footers;
  private final ChunkCache chunks;
  private final ReadContext context;
  private final PartialReads partial;

  private final List<PinnedChunks> held = new ArrayList<>();
  private ByteBuffer window = EMPTY;
  private long windowStart;

  CachedParquetStream(
      FileStream file,
      FileId id,
      CachedFooter footer,
      MetadataCache footers,
      ChunkCache chunks,
      ReadContext context) {
    super(file, context.counters());
    this.id = id;
    this.footer = footer;
    this.footers = footers;
    this.chunks = chunks;
    this.context = context;
    this.partial = new PartialReads(chunks, file, context);
  }

  @Override
  public boolean readVectoredAvailable(ByteBufferAllocator allocator) {
    return true;
  }

  @Override
  public void readVectored(List<ParquetFileRange> ranges, ByteBufferAllocator allocator)
      throws IOException {
    Map<ChunkRequest, List<ParquetFileRange>> byChunk =
        new TreeMap<>(Comparator.comparingLong(ChunkRequest::offset));
    List<ParquetFileRange> around = new ArrayList<>();
    for (ParquetFileRange range : ranges) {
      if (range.getLength() == 0) {
        range.setDataReadFuture(CompletableFuture.completedFuture(EMPTY.duplicate()));
        continue;
      }
      ChunkRequest chunk = footer.chunkAround(range.getOffset(), range.getLength());
      if (chunk == null) {
        around.add(range);
      } else {
        byChunk.computeIfAbsent(chunk, c -> new ArrayList<>()).add(range);
      }
    }
    if (!handAgain(byChunk, around)) {
      releaseHeld();
      handNew(byChunk, around);
    }
    readAround(around);
    if (!ranges.isEmpty()) {
      ParquetFileRange last = ranges.get(ranges.size() - 1);
      position = last.getOffset() + last.getLength();
    }
  }

  /** Hands out what is held already, if that is of the same row group; the rest is to be read. */
  private boolean handAgain(
      Map<ChunkRequest, List<ParquetFileRange>> byChunk, List<ParquetFileRange> around) {
    Map<ChunkRequest, ByteBuffer> again = new HashMap<>();
    for (PinnedChunks chunks : held) {
      for (int i = 0; i < chunks.requests().size(); i++) {
        again.put(chunks.requests().get(i), chunks.buffer(i));
      }
    }
    if (Collections.disjoint(again.keySet(), byChunk.keySet())) {
      return false;
    }
    byChunk.forEach(
        (chunk, wanted) -> {
          if (again.containsKey(chunk)) {
            slice(again.get(chunk), chunk, wanted);
          } else {
            around.addAll(wanted);
          }
        });
    return true;
  }

  private void handNew(
      Map<ChunkRequest, List<ParquetFileRange>> byChunk, List<ParquetFileRange> around)
      throws IOException {
    List<ChunkRequest> whole = new ArrayList<>();
    byChunk.forEach(
        (chunk, wanted) -> {
          boolean isPart = wantedBytes(wanted) < chunk.length();
          if (isPart && serveHeld(chunk, wanted)) {
            return;
          }
          if (!isPart || partial.isWorthLoading(chunk, wantedBytes(wanted))) {
            whole.add(chunk);
          } else {
            partial.onBypass(chunk, wantedBytes(wanted));
            around.addAll(wanted);
          }
        });
    if (!whole.isEmpty()) {
      PinnedChunks loaded = chunks.get(whole, file, context);
      held.add(loaded);
      for (int i = 0; i < whole.size(); i++) {
        slice(loaded.buffer(i), whole.get(i), byChunk.get(whole.get(i)));
      }
    }
  }

  /**
   * Drops the chunks of the last row group that came from the pool and are damaged there. To be
   * asked when something cannot be decoded.
   *
   * @return whether there are any; who reads the row group once more gets them as they are
   */
  public boolean dropDamaged() {
    boolean isDamaged = false;
    for (PinnedChunks chunks : held) {
      isDamaged |= chunks.dropDamaged();
    }
    return isDamaged;
  }

  /**
   * The place in the footer of the last row group that was read; -1 where the cache had no part.
   */
  public int rowGroup() {
    return held.isEmpty() ? -1 : held.get(0).requests().get(0).key().rowGroup();
  }

  private static long wantedBytes(List<ParquetFileRange> wanted) {
    return wanted.stream().mapToLong(ParquetFileRange::getLength).sum();
  }

  private boolean serveHeld(ChunkRequest chunk, List<ParquetFileRange> wanted) {
    PinnedChunks found = chunks.getIfHeld(chunk, context);
    if (found == null) {
      return false;
    }
    held.add(found);
    partial.onHit(chunk, wantedBytes(wanted));
    slice(found.buffer(0), chunk, wanted);
    return true;
  }

  private void slice(ByteBuffer bytes, ChunkRequest chunk, List<ParquetFileRange> wanted) {
    for (ParquetFileRange range : wanted) {
      int at = Math.toIntExact(range.getOffset() - chunk.offset());
      hand(range, chunk, bytes.slice(bytes.position() + at, range.getLength()));
    }
  }

  private void hand(ParquetFileRange range, ChunkRequest chunk, ByteBuffer bytes) {
    ByteBuffer handed = bytes;
    if (chunk != null && footer.isReadAsArrays(chunk)) {
      handed = ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
    }
    range.setDataReadFuture(CompletableFuture.completedFuture(handed));
  }

  private void readAround(List<ParquetFileRange> around) throws IOException {
    if (around.isEmpty()) {
      return;
    }
    around.sort(Comparator.comparingLong(ParquetFileRange::getOffset));
    List<Range> ranges = new ArrayList<>(around.size());
    around.forEach(range -> ranges.add(new Range(range.getOffset(), range.getLength())));
    long start = System.nanoTime();
    List<ByteBuffer> buffers = file.read(ranges);
    counters.read(wantedBytes(around), System.nanoTime() - start);
    for (int i = 0; i < buffers.size(); i++) {
      ParquetFileRange range = around.get(i);
      hand(range, footer.chunkAround(range.getOffset(), range.getLength()), buffers.get(i));
    }
  }

  private void releaseHeld() {
    held.forEach(PinnedChunks::close);
    held.clear();
  }

  /** Makes {@link #window} start at the position; false when only the file has these bytes. */
  private boolean windowAtPosition() throws IOException {
    long in = position - windowStart;
    if (in < 0 || in >= window.limit()) {
      Range structure = footer.index().structureAt(position);
      if (structure == null) {
        return false;
      }
      windowStart = structure.offset();
      window =
          ByteBuffer.wrap(
              footers.structure(
                  id, windowStart, () -> partial.structure(structure, footer.index())));
      in = position - windowStart;
    }
    window.position((int) in);
    return true;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining() || !windowAtPosition()) {
      return super.read(into);
    }
    int count = Math.min(into.remaining(), window.remaining());
    into.put(window.slice(window.position(), count));
    position += count;
    return count;
  }

  @Override
  public void close() throws IOException {
    releaseHeld();
    super.close();
  }
}
