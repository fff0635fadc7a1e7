package io.oap.cache;

import io.oap.cache.file.FileRecord;
import io.oap.cache.file.KnownFiles;
import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chunks on their way from the pool of one process to that of another, in whatever representation
 * they have. They travel in parts, each with the names and layouts of the files that its chunks are
 * of. Thread-safe.
 *
 * <p>A part is a sequence of chunks. Each begins with the ordinal of its file among those of the
 * part; the first chunk of a file has a {@link FileRecord} behind that, with its length before it.
 * Then come row group, column, representation, how often it was asked for, checksum, length, bytes.
 */
public final class HandedChunks {
  private static final Logger LOG = LoggerFactory.getLogger(HandedChunks.class);

  private static final int HEAD = 5 * Integer.BYTES + 2 * Long.BYTES;

  private final ColumnPool pool;
  private final ChunkCache chunks;
  private final KnownFiles files;

  HandedChunks(ColumnPool pool, ChunkCache chunks, KnownFiles files) {
    this.pool = pool;
    this.chunks = chunks;
    this.files = files;
  }

  /**
   * What a pool has taken in of a part.
   *
   * @param refused chunks for which it has no room or no quota, or that were damaged
   */
  public record Taken(long chunks, long bytes, long refused) {}

  /**
   * Copies those of the chunks that the pool still holds. The others, which it knows, stay.
   *
   * @param some each with what it is worth to its receiver: how often it was asked for here
   */
  public ByteBuffer pack(List<HeldKey> some) throws IOException {
    List<HeldKey> packed = new ArrayList<>();
    List<Pin> pins = new ArrayList<>();
    Map<FileId, byte[]> records = new HashMap<>();
    try {
      long bytes = 0;
      for (HeldKey held : some) {
        ChunkKey key = held.key();
        KnownFile file = files.get(key.file());
        Pin pin = file == null || chunks.fault() != null ? null : pool.pinUnused(key);
        if (pin != null) {
          pins.add(pin);
          packed.add(held);
          bytes += HEAD + pin.bytes();
          if (!records.containsKey(key.file())) {
            byte[] record = FileRecord.encode(file);
            records.put(key.file(), record);
            bytes += Integer.BYTES + record.length;
          }
        }
      }
      return write(packed, pins, records, Math.toIntExact(bytes));
    } finally {
      Steps.runAll(pins.size(), i -> chunks.unpin(pins.get(i)));
    }
  }

  private static ByteBuffer write(
      List<HeldKey> some, List<Pin> pins, Map<FileId, byte[]> records, int bytes) {
    ByteBuffer part = ByteBuffer.allocate(bytes);
    Map<FileId, Integer> ordinals = new HashMap<>();
    for (int i = 0; i < some.size(); i++) {
      ChunkKey key = some.get(i).key();
      Pin pin = pins.get(i);
      Integer known = ordinals.putIfAbsent(key.file(), ordinals.size());
      part.putInt(known == null ? ordinals.size() - 1 : known);
      if (known == null) {
        byte[] record = records.get(key.file());
        part.putInt(record.length).put(record);
      }
      part.putInt(key.rowGroup()).putInt(key.column()).putLong(key.representation());
      part.putInt(some.get(i).asks()).putLong(pin.note()).putInt((int) pin.bytes());
      pin.copyTo(part);
    }
    return part.flip();
  }

  /**
   * Takes the chunks of a part into the pool.
   *
   * @param part what {@link #pack} made elsewhere, on the heap
   * @param mayDisplace whether what is there leaves for what was asked for more often; else the
   *     chunks take free room only
   * @throws IOException when it is not that; what stands before the fault has been taken in
   */
  public Taken unpack(ByteBuffer part, boolean mayDisplace) throws IOException {
    List<FileId> known = new ArrayList<>();
    ReadContext context =
        new ReadContext(new CacheCounters(), Admission.IF_FREE, key -> false, new WarmedChunks());
    long count = 0;
    long bytes = 0;
    long refused = 0;
    while (part.hasRemaining()) {
      int ordinal = part.getInt();
      if (ordinal == known.size()) {
        known.add(readFile(part));
      }
      ChunkKey key = new ChunkKey(known.get(ordinal), part.getInt(), part.getInt(), part.getLong());
      int asks = part.getInt();
      long checksum = part.getLong();
      int length = part.getInt();
      ByteBuffer chunk = part.slice(part.position(), length);
      part.position(part.position() + length);
      if (take(key, chunk, mayDisplace ? asks : 0, checksum, context)) {
        count++;
        bytes += length;
      } else {
        refused++;
      }
    }
    return new Taken(count, bytes, refused);
  }

  private FileId readFile(ByteBuffer part) throws IOException {
    int length = part.getInt();
    KnownFile file = FileRecord.decode(part.slice(part.position(), length));
    part.position(part.position() + length);
    FileId id = file.identity().id();
    files.add(id, () -> file);
    return id;
  }

  /** Whether the pool holds the chunk in the end. */
  private boolean take(
      ChunkKey key, ByteBuffer chunk, int asks, long checksum, ReadContext context) {
    if (Checksum.of(chunk) != checksum) {
      LOG.warn("The column chunk {} was damaged before it came here; it is left out.", key);
      return false;
    }
    int bytes = chunk.remaining();
    try (ChunkLoad load = new ChunkLoad(chunks, key, bytes, null, 0, asks, context)) {
      if (load.hasRoom()) {
        load.publish(chunk, checksum);
        chunks.recordEntry(key, bytes);
        return true;
      }
      return load.isPresent();
    } catch (RuntimeException | LinkageError e) {
      chunks.switchOff(e);
      return false;
    }
  }
}
