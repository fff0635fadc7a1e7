package io.oap.spark.internals;

import java.util.function.Predicate;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockResult;
import org.apache.spark.storage.RDDBlockId;
import scala.Option;
import scala.collection.Iterator;

/** Blocks of persisted RDDs, which Spark opens to its own packages only. */
public final class CachedBlocks {
  private CachedBlocks() {}

  /**
   * Whether all elements of a block that this process holds are as they should be; computes none.
   *
   * @return true also where it does not hold the block
   */
  public static boolean allMatch(int rdd, int partition, Predicate<Object> test) {
    Option<BlockResult> found =
        SparkEnv.get().blockManager().getLocalValues(new RDDBlockId(rdd, partition));
    boolean all = true;
    if (found.isDefined()) {
      // To its end, where Spark takes its lock back.
      for (Iterator<Object> elements = found.get().data(); elements.hasNext(); ) {
        all &= test.test(elements.next());
      }
    }
    return all;
  }

  /**
   * Has all executors remove a block, each as soon as no task reads it. Waits for the driver to
   * take note only, so that a task that reads the block may ask for it.
   */
  public static void remove(int rdd, int partition) {
    SparkEnv.get().blockManager().master().removeBlock(new RDDBlockId(rdd, partition));
  }
}
