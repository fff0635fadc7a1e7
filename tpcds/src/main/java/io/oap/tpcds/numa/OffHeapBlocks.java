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
   * The memory of an RDD's blocks that are off the heap.
   *
   * @param partitions of the RDD
   */
  static List<Range> of(int rdd, int partitions) {
    BlockManager blocks = SparkEnv.get().blockManager();
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < partitions; i++) {
      RDDBlockId id = new RDDBlockId(rdd, i);
      scala.Option<BlockData> data = blocks.getLocalBytes(id);
      if (data.isDefined()) {
        if (data.get() instanceof ByteBufferBlockData inMemory) {
          for (ByteBuffer chunk : inMemory.buffer().getChunks()) {
            if (chunk.isDirect()) {
              long address = PlatformDependent.directBufferAddress(chunk);
              ranges.add(new Range(address, chunk.capacity()));
            }
          }
        }
        data.get().dispose();
        blocks.releaseLock(id, scala.Option.empty());
      }
    }
    return ranges;
  }
}
