package io.oap.spark.dataframe;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.JavaSerializer;
import java.io.Serializable;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.columnar.SimpleMetricsCachedBatch;
import org.apache.spark.util.KnownSizeEstimation;

/**
 * A batch whose columns are vector chunks. Spark closes it when the block goes that it belongs to.
 * Its chunks go then, or with the last reader; where nobody closes it, when it is garbage. What
 * leaves the process, or goes to a disk, has the chunks' bytes in it.
 */
abstract class VectorBatch implements SimpleMetricsCachedBatch, ChunkOwner, Serializable {
  private static final long serialVersionUID = 1;
  private static final Cleaner LEAKS = Cleaner.create();

  /** Of the objects of a batch without columns. */
  private static final long HEAP_BYTES = 400;

  private final int numRows;
  private final InternalRow stats;
  private final transient Hold hold;
  private final transient Cleaner.Cleanable owner;

  private VectorBatch(int numRows, InternalRow stats, StoredColumn[] columns) {
    this.numRows = numRows;
    this.stats = stats;
    hold = new Hold(columns);
    owner = LEAKS.register(this, hold);
  }

  /**
   * Makes a batch, which says how much heap it takes. The way to say so is Spark's own, and scalac
   * keeps to that also in the signatures of Java. Without it Spark would walk from the pins through
   * the whole cache.
   *
   * @param stats as Spark's batches have them
   * @param columns that the batch owns from now on
   */
  static VectorBatch of(int numRows, InternalRow stats, StoredColumn[] columns) {
    @DefaultSerializer(JavaSerializer.class)
    final class Sized extends VectorBatch implements KnownSizeEstimation {
      private static final long serialVersionUID = 1;
      private final long heapBytes;

      private Sized(long heapBytes) {
        super(numRows, stats, columns);
        this.heapBytes = heapBytes;
      }

      @Override
      public long estimatedSize() {
        return heapBytes;
      }
    }
    return new Sized(HEAP_BYTES + Stream.of(columns).mapToLong(StoredColumn::heapBytes).sum());
  }

  @Override
  public int numRows() {
    return numRows;
  }

  @Override
  public InternalRow stats() {
    return stats;
  }

  @Override
  public void close() {
    owner.clean();
  }

  /**
   * Lets a reader have the columns until it calls {@link Hold#release}.
   *
   * @throws IllegalStateException where they have gone
   */
  Hold use() {
    if (!hold.retain()) {
      throw new IllegalStateException("the block of this batch of cached rows was removed");
    }
    return hold;
  }

  /** Whether its columns are; those of a batch that has gone are nobody's any more. */
  @Override
  public boolean isSound() {
    if (!hold.retain()) {
      return true;
    }
    try {
      return Stream.of(hold.columns).allMatch(StoredColumn::isSound);
    } finally {
      hold.release();
    }
  }

  /** Java's serialization writes this. */
  protected Object writeReplace() {
    Hold used = use();
    try {
      byte[][] bytes = Stream.of(used.columns).map(StoredColumn::bytes).toArray(byte[][]::new);
      return new Sent(numRows, stats, bytes);
    } finally {
      used.release();
    }
  }

  /** A batch on its way. */
  private record Sent(int numRows, InternalRow stats, byte[][] columns) implements Serializable {
    private Object readResolve() {
      StoredColumn[] here =
          Stream.of(columns).map(StoredColumn.OnHeap::new).toArray(StoredColumn[]::new);
      return VectorBatch.of(numRows, stats, here);
    }
  }

  /** Who has the columns of a batch: its owner, and readers. */
  static final class Hold implements Runnable {
    private final StoredColumn[] columns;
    private final AtomicInteger users = new AtomicInteger(1);
    private final AtomicBoolean isOwned = new AtomicBoolean(true);

    private Hold(StoredColumn[] columns) {
      this.columns = columns;
    }

    /** A column, by its place in the batch. */
    StoredColumn column(int index) {
      return columns[index];
    }

    /** Adds a reader, unless nobody has them any more. */
    private boolean retain() {
      return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
    }

    /** Takes a reader away. */
    void release() {
      if (users.decrementAndGet() == 0) {
        for (StoredColumn column : columns) {
          column.close();
        }
      }
    }

    /** Takes the owner away. */
    @Override
    public void run() {
      if (isOwned.compareAndSet(true, false)) {
        release();
      }
    }
  }
}
