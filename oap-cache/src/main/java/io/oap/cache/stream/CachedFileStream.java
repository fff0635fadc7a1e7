package io.oap.cache.stream;

import io.oap.cache.ColumnCache;
import io.oap.cache.ReadContext;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.TailStream;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.FileLayout;
import io.oap.cache.layout.LayoutReader;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.Figure;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One version of a file, as a reader of any library sees it that knows nothing of the cache: bytes
 * by position. Chunks come from the pool, footers and other small structures from the heap, all
 * else from the file. Not thread-safe.
 *
 * <p>What is handed out is a copy. A reader of another library says nowhere when it is done with a
 * buffer, so memory of the pool would have to stay pinned for as long as the stream is open, and
 * whoever reads on after that would get another chunk's bytes. Copies of chunks are checked against
 * the checksum they were published with.
 */
public final class CachedFileStream implements FileStream {
  private static final Logger LOG = LoggerFactory.getLogger(CachedFileStream.class);

  /** What is larger was not written as a footer, and is not kept on the heap. */
  private static final int MOST_FOOTER_BYTES = 256 << 20;

  private final ColumnCache cache;
  private final LayoutReader layouts;
  private final ReadContext context;
  private final FileIdentity identity;
  private final FileId id;
  private final FileStream file;

  private boolean isLookedUp;
  private ChunkParts parts;
  private FileLayout layout;
  private ByteBuffer structure;
  private Range structureRange;
  private long found;
  private long asked;

  /**
   * @param source opened for what the cache lacks only
   * @param layouts of the file's format
   */
  public CachedFileStream(
      FileSource source, LayoutReader layouts, ColumnCache cache, ReadContext context) {
    this.cache = cache;
    this.layouts = layouts;
    this.context = context;
    this.identity = source.identity();
    this.id = identity.id();
    this.file = source.open();
  }

  /**
   * Whether the layout of the file is known, so that its chunks come from the cache. Reads the end
   * of the file where the cache has no footer of it.
   */
  public boolean hasLayout() {
    return layout() != null;
  }

  /**
   * The layout of the file; null where it is not known and everything is read from the file. Reads
   * the end of the file where the cache has no footer of it.
   */
  public FileLayout layout() {
    if (!isLookedUp) {
      isLookedUp = true;
      long length = identity.length();
      TailStream end = new TailStream(file, length, TailStream.bytesFor(length), this::countBeyond);
      try {
        long mostBytes = cache.footers().mostBytesOfOne();
        FileLayout found = cache.footers().footer(id, () -> layouts.read(end, identity, mostBytes));
        if (found.footerStart() < identity.length()) {
          cache.files().add(id, () -> found.describe(identity));
          layout = found;
        }
      } catch (IOException | RuntimeException | LinkageError e) {
        // The caller says what is wrong with the file when it reads it, in words that users know.
        // LinkageError: a codec whose library is not there.
        LOG.debug("{} is read around the cache.", identity.path(), e);
      }
      // Where the layout was known, what is missing may be a few bytes anywhere.
      boolean isRead = end.tail() != null;
      parts = new ChunkParts(cache.chunks(), isRead ? end : file, context);
      countBeyond(isRead ? end.tail().remaining() : 0);
    }
    return layout;
  }

  /**
   * Counts bytes that were read beyond those that callers ask for. Until the layout is known that
   * is its reader, who counts for nobody.
   */
  private void countBeyond(long bytes) {
    if (parts != null) {
      context.counters().add(Figure.BYTES_FROM_FILE, bytes);
    }
  }

  /**
   * Reads ranges of the file.
   *
   * @param ranges disjoint, ascending, within the file
   * @param allocate makes the buffer of a range of so many bytes
   * @return a buffer for each range, which holds it between position and limit
   * @throws EOFException when a range reaches beyond the end of the file
   */
  public List<ByteBuffer> read(List<Range> ranges, IntFunction<ByteBuffer> allocate)
      throws IOException {
    List<ByteBuffer> buffers = new ArrayList<>(ranges.size());
    for (Range range : ranges) {
      requireWithin(range.offset(), range.length());
      // Allocators may give more than they were asked for.
      buffers.add(allocate.apply(range.length()).slice(0, range.length()));
    }
    fill(ranges, buffers);
    return buffers;
  }

  @Override
  public List<ByteBuffer> read(List<Range> ranges) throws IOException {
    return read(ranges, ByteBuffer::allocate);
  }

  /** Reads until the buffer is full. */
  public void readFully(long position, ByteBuffer into) throws IOException {
    int count = into.remaining();
    requireWithin(position, count);
    fill(List.of(new Range(position, count)), List.of(into.slice()));
    into.position(into.limit());
  }

  @Override
  public int read(long position, ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    if (position >= identity.length()) {
      return -1;
    }
    int count = (int) Math.min(into.remaining(), identity.length() - position);
    fill(List.of(new Range(position, count)), List.of(into.slice(into.position(), count)));
    into.position(into.position() + count);
    return count;
  }

  private void requireWithin(long position, long count) throws EOFException {
    if (position < 0 || position + count > identity.length()) {
      throw new EOFException(
          "%d bytes at %d of %s, which has %d"
              .formatted(count, position, identity.path(), identity.length()));
    }
  }

  private void fill(List<Range> ranges, List<ByteBuffer> into) throws IOException {
    FileLayout known = layout();
    CacheCounters counters = context.counters();
    found -= counters.chunksHit();
    asked -= counters.chunksAsked();
    try {
      for (int i = 0; i < into.size(); i++) {
        divide(known, ranges.get(i).offset(), into.get(i).duplicate());
      }
      parts.read();
    } finally {
      // After a failure the buffers are the caller's again, who may read something else into them.
      parts.clear();
      found += counters.chunksHit();
      asked += counters.chunksAsked();
    }
  }

  /** Copies what structures have of a range, and asks for the rest chunk by chunk. */
  private void divide(FileLayout known, long offset, ByteBuffer into) throws IOException {
    long end = offset + into.remaining();
    long at = offset;
    while (at < end) {
      ChunkRequest chunk = known == null ? null : known.index().chunkAt(at);
      boolean isStructure = known != null && findStructure(known, at);
      // A chunk has its dictionary page in it: as such it is read only where that is all.
      if (isStructure && (chunk == null || end <= structureRange.end())) {
        at = Math.min(end, structureRange.end());
        copyStructure(into, offset, at);
      } else if (chunk != null) {
        at = Math.min(end, chunk.end());
        parts.add(chunk, at, nextBytes(into, offset, at));
      } else {
        at = known == null ? end : Math.min(end, nextKnown(known, at));
        parts.addUncached(at, nextBytes(into, offset, at));
      }
    }
  }

  /** The room for the bytes up to {@code end} that follow those already spoken for. */
  private static ByteBuffer nextBytes(ByteBuffer into, long offset, long end) {
    int start = into.position();
    int count = Math.toIntExact(end - offset) - start;
    into.position(start + count);
    return into.slice(start, count);
  }

  private boolean findStructure(FileLayout known, long at) {
    if (structureRange != null && structureRange.contains(at)) {
      return true;
    }
    Range found = at < known.footerStart() ? known.index().structureAt(at) : footer(known);
    if (found != null) {
      structureRange = found;
      structure = null;
    }
    return found != null;
  }

  private static long nextKnown(FileLayout known, long at) {
    long next = known.index().nextKnown(at);
    return at < known.footerStart() ? Math.min(next, known.footerStart()) : next;
  }

  private Range footer(FileLayout known) {
    long bytes = identity.length() - known.footerStart();
    return bytes > MOST_FOOTER_BYTES ? null : new Range(known.footerStart(), (int) bytes);
  }

  private void copyStructure(ByteBuffer into, long offset, long end) throws IOException {
    if (structure == null) {
      Range range = structureRange;
      structure =
          ByteBuffer.wrap(
              cache.footers().structure(id, range.offset(), () -> structureBytes(range)));
    }
    ByteBuffer room = nextBytes(into, offset, end);
    int from = Math.toIntExact(end - room.remaining() - structureRange.offset());
    room.put(structure.slice(from, room.remaining()));
  }

  private byte[] structureBytes(Range range) throws IOException {
    byte[] known = layout.structure(range);
    return known == null ? parts.structure(range, layout.index()) : known;
  }

  @Override
  public void close() throws IOException {
    if (context.isAsking()) {
      cache.files().recordRead(id, found, asked);
    }
    found = asked = 0;
    file.close();
  }
}
