package io.oap.cache;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.FileSource;
import io.oap.cache.file.FileStream;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.layout.FileLayout;
import io.oap.cache.layout.LayoutIndex;
import io.oap.common.ChunkKey;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A {@link SyntheticFile} that is opened and closed, with a layout made by chance: chunks, small
 * structures within them and between them, bytes that belong to nothing, a footer.
 */
final class SyntheticSource implements FileSource {
  final SyntheticFile file;
  final AtomicInteger opened = new AtomicInteger();
  final AtomicInteger closed = new AtomicInteger();
  final List<ChunkRequest> chunks = new ArrayList<>();
  private final LayoutIndex index = new LayoutIndex();
  private final FileIdentity identity;
  private final long footerStart;

  SyntheticSource(SyntheticFile file, Random random, int count, int mostBytes) {
    this.file = file;
    long at = random.nextInt(5);
    for (int i = 0; i < count; i++) {
      int length = 1 + random.nextInt(mostBytes);
      if (random.nextInt(4) > 0) {
        ChunkRequest chunk = file.chunk(i, at, length);
        chunks.add(chunk);
        index.add(chunk);
        if (random.nextInt(3) == 0) {
          index.addStructure(at, 1 + random.nextInt(length));
        }
      } else if (random.nextBoolean()) {
        index.addStructure(at, length);
      }
      at += length + (random.nextInt(3) == 0 ? random.nextInt(50) : 0);
    }
    // As with ORC, what is kept as the footer may reach into a chunk.
    footerStart = random.nextBoolean() ? at : at - random.nextInt(mostBytes);
    identity = new FileIdentity("synthetic:/" + file, at + 1 + random.nextInt(1000), 0, "");
  }

  /** The layout; {@code file} is what it would be read from. */
  FileLayout layout() {
    return new FileLayout() {
      @Override
      public LayoutIndex index() {
        return index;
      }

      @Override
      public long footerStart() {
        return footerStart;
      }

      @Override
      public KnownFile describe(FileIdentity of) {
        int count = chunks.stream().mapToInt(c -> c.key().column()).max().orElse(0) + 1;
        List<String> columns = new ArrayList<>();
        for (int i = 0; i < count; i++) {
          columns.add("c" + i);
        }
        return new KnownFile(of, columns, new long[] {0}, index.chunkBytes(1, count));
      }

      @Override
      public long heapBytes() {
        return 100;
      }
    };
  }

  ChunkKey key(int index) {
    return chunks.get(index).key();
  }

  @Override
  public FileIdentity identity() {
    return identity;
  }

  @Override
  public FileStream open() {
    opened.incrementAndGet();
    return new FileStream() {
      @Override
      public int read(long position, ByteBuffer into) throws IOException {
        int count = (int) Math.min(into.remaining(), identity.length() - position);
        if (count <= 0) {
          return -1;
        }
        // As few as a store likes to give.
        count = 1 + count / 2;
        into.put(read(List.of(new Range(position, Math.min(count, into.remaining())))).get(0));
        return count;
      }

      @Override
      public List<ByteBuffer> read(List<Range> ranges) throws IOException {
        return file.read(ranges);
      }

      @Override
      public void close() {
        closed.incrementAndGet();
      }
    };
  }
}
