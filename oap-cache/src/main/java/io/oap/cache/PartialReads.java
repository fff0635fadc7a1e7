package io.oap.cache;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.FileStream;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.LayoutIndex;
import io.oap.cache.pool.Admission;
import io.oap.cache.stats.MissCause;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads of less than a chunk of one file, as one reader makes them. Not thread-safe. */
public final class PartialReads {
  /** A chunk that is so small is loaded whole: the request costs more than its bytes. */
  private static final int SMALL_CHUNK_BYTES = 256 << 10;

  private final ChunkCache chunks;
  private final FileStream file;
  private final ReadContext context;

  public PartialReads(ChunkCache chunks, FileStream file, ReadContext context) {
    this.chunks = chunks;
    this.file = file;
    this.context = context;
  }

  /**
   * Whether to load the whole chunk: most of it is wanted now, or it is small; or it can enter the
   * pool, and parts of it were wanted before or the tier below has it.
   *
   * @param wanted bytes that are wanted of it
   */
  public boolean isWorthLoading(ChunkRequest chunk, long wanted) {
    return chunk.length() <= SMALL_CHUNK_BYTES
        || wanted * 2 > chunk.length()
        || (chunks.tier.find(chunk.key()) != 0 || chunks.isAskedAgain(chunk.key()))
            && ChunkLoad.isAdmitted(chunks, chunk.key(), chunk.length(), context);
  }

  /** Counts so many bytes that are taken from a chunk that is held. */
  public void onHit(ChunkRequest chunk, long wanted) {
    context.counters().hit(wanted);
    recordAsk(chunk, wanted, true, context.admission());
  }

  /** Counts so many bytes of a chunk that are read around the pool. */
  public void onBypass(ChunkRequest chunk, long wanted) {
    context.counters().miss(MissCause.OTHER);
    recordAsk(chunk, wanted, false, Admission.NEVER);
  }

  private void recordAsk(ChunkRequest chunk, long wanted, boolean wasHeld, Admission admission) {
    if (context.isAsking()) {
      chunks.recordAsk(chunk.key(), chunk.length(), wanted, wasHeld, admission);
    }
  }

  /** Reads a small structure: out of the chunk it lies in, if that is held, else from the file. */
  public byte[] structure(Range range, LayoutIndex index) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(range.length());
    ChunkRequest chunk = index.chunkAt(range.offset());
    boolean isWithin = chunk != null && range.end() <= chunk.end();
    try (PinnedChunks found = isWithin ? chunks.getIfHeld(chunk, context) : null) {
      // It is kept longer than the chunk, so that damage must not go with it.
      if (found != null && !found.dropDamaged()) {
        ByteBuffer source = found.buffer(0);
        int at = source.position() + Math.toIntExact(range.offset() - chunk.offset());
        return bytes.put(source.slice(at, range.length())).array();
      }
    }
    long start = System.nanoTime();
    while (bytes.hasRemaining()) {
      if (file.read(range.offset() + bytes.position(), bytes) < 0) {
        throw new EOFException("The file ended within " + range);
      }
    }
    context.counters().read(range.length(), System.nanoTime() - start);
    return bytes.array();
  }
}
