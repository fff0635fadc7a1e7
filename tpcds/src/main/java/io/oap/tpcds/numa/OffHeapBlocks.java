package io.oap.tpcds.numa;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockData;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ByteBufferBlockData;
import org.apache.spark.storage.RDDBlockId;

/** Where the blocks lie that Spark keeps off the heap of this process. */
final class OffHeapBlocks {

  private OffHeapBlocks() {}

  /**
   * Memory of this process.
   *
   * @param address of its first byte
   */
  record Range(long address, long bytes) {}

  /**
   * The memory of an RDD's blocks.
   *
   * @param partitions of the RDD
   * @throws IllegalStateException if one is not kept off the heap
   */
  static List<Range> of(int rdd, int partitions) {
    BlockManager blocks = SparkEnv.get().blockManager();
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < partitions; i++) {
      RDDBlockId id = new RDDBlockId(rdd, i);
      scala.Option<BlockData> data = blocks.getLocalBytes(id);
      if (data.isEmpty()) {
        throw new IllegalStateException(id + " is not kept");
      }
      try {
        ranges.addAll(of(id, data.get()));
      } finally {
        data.get().dispose();
        blocks.releaseLock(id, scala.Option.empty());
      }
    }
    return ranges;
  }

  private static List<Range> of(RDDBlockId id, BlockData data) {
    List<Range> ranges = new ArrayList<>();
    if (data instanceof ByteBufferBlockData inMemory) {
      for (ByteBuffer chunk : inMemory.buffer().getChunks()) {
        if (chunk.isDirect()) {
          ranges.add(new Range(PlatformDependent.directBufferAddress(chunk), chunk.capacity()));
        }
      }
    }
    if (ranges.stream().mapToLong(Range::bytes).sum() < data.size()) {
      throw new IllegalStateException(id + " is not off the heap");
    }
    return ranges;
  }
}
