package io.oap.spark.rpc;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BroadcastBlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.reflect.ClassTag$;

/**
 * Bytes from one executor to another. Executors cannot send messages to each other, but fetch
 * blocks from each other: the bytes are a block of the one that has them for as long as it takes.
 */
public final class BlockTransfer {

  /** The blocks of a broadcast that no application has: a leaving executor takes no others. */
  private static final long BROADCAST = Long.MAX_VALUE;

  private static final AtomicLong LAST = new AtomicLong();

  private BlockTransfer() {}

  /** Where bytes can be fetched. */
  public record Offer(String host, int port, String executor, String block)
      implements Serializable {}

  /**
   * Lets others fetch bytes from this process.
   *
   * @param bytes on the heap, and not to be changed before {@link #withdraw}
   * @throws IOException when Spark has no memory for them
   */
  public static Offer offer(SparkEnv environment, ByteBuffer bytes) throws IOException {
    BlockManager blocks = environment.blockManager();
    BlockId id = new BroadcastBlockId(BROADCAST, "oap" + LAST.incrementAndGet());
    boolean isStored =
        blocks.putBytes(
            id,
            new ChunkedByteBuffer(bytes),
            StorageLevel.MEMORY_ONLY_SER(),
            false,
            ClassTag$.MODULE$.apply(Object.class));
    if (!isStored) {
      throw new IOException("no memory for " + bytes.remaining() + " bytes to be fetched");
    }
    BlockManagerId here = blocks.blockManagerId();
    return new Offer(
        here.host(), blocks.blockTransferService().port(), here.executorId(), id.name());
  }

  /** Forgets bytes that were fetched. */
  public static void withdraw(SparkEnv environment, Offer offer) {
    environment.blockManager().removeBlock(BlockId.apply(offer.block()), false);
  }

  /**
   * Fetches what another executor offers, into memory of the heap.
   *
   * @throws IOException when it cannot be had in time
   */
  public static ByteBuffer fetch(SparkEnv environment, Offer offer, long timeoutMillis)
      throws IOException {
    CompletableFuture<ByteBuffer> fetched = new CompletableFuture<>();
    BlockFetchingListener listener =
        new BlockFetchingListener() {
          @Override
          public void onBlockFetchSuccess(String block, ManagedBuffer data) {
            try {
              ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(data.size()));
              fetched.complete(copy.put(data.nioByteBuffer()).flip());
            } catch (Throwable e) {
              fetched.completeExceptionally(e);
            }
          }

          @Override
          public void onBlockFetchFailure(String block, Throwable why) {
            fetched.completeExceptionally(why);
          }
        };
    String[] block = {offer.block()};
    environment
        .blockManager()
        .blockTransferService()
        .fetchBlocks(offer.host(), offer.port(), offer.executor(), block, listener, null);
    try {
      return fetched.get(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("Executor " + offer.executor() + " does not give its bytes: " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(e.getMessage());
    }
  }
}
