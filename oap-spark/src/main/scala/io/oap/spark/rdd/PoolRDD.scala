package io.oap.spark.rdd

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.ByteBuffer

import scala.reflect.ClassTag

import org.apache.spark.{Partition, Partitioner, SparkEnv, TaskContext}
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

import io.oap.spark.dataframe.{OwnedKeys, SoundBlocks, TaskBlock}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.internals.SparkInternals

/**
 * An RDD whose elements stay in the pools of executors, serialized, once they have been computed. Its
 * blocks are Spark's: tasks run where they are, what is lost is computed again, and they go when
 * the RDD is unpersisted or garbage.
 *
 * @param pieces the elements, serialized, and persisted
 */
final class PoolRDD[T: ClassTag] private (
    pieces: RDD[PooledPiece],
    override val partitioner: Option[Partitioner])
    extends RDD[T](pieces) {

  override protected def getPartitions: Array[Partition] = firstParent[PooledPiece].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[T] = {
    val serializer = SparkEnv.get.serializer.newInstance()
    val parent = firstParent[PooledPiece]
    SoundBlocks.read(parent.id, split.index, context)(parent.iterator(split, context)) {
      parent.compute(split, context)
    }.flatMap { piece =>
      serializer
        .deserializeStream(new ByteArrayInputStream(piece.bytes()))
        .asIterator
        .asInstanceOf[Iterator[T]]
    }
  }

  /** Where the elements are kept. Libraries ask whether they need to persist an RDD themselves. */
  override def getStorageLevel: StorageLevel = pieces.getStorageLevel

  override def unpersist(blocking: Boolean = false): this.type = {
    pieces.unpersist(blocking)
    super.unpersist(blocking)
  }
}

object PoolRDD {

  /** An RDD with the same elements, which stay in the pool once a task has computed them. */
  def of[T: ClassTag](rdd: RDD[T]): RDD[T] = {
    val pieces = new PooledPieces(rdd)
    pieces.setName(s"in the pool: $rdd").persist(StorageLevel.MEMORY_AND_DISK)
    val pooled = new PoolRDD(pieces, rdd.partitioner)
    // It has a storage level, by which Spark's status knows it from the first action on.
    SparkInternals.forgetWhenGarbage(pooled)
    pooled
  }

  /** Gives Java an RDD whose elements stay in the pool. */
  def of[T](rdd: JavaRDD[T]): JavaRDD[T] = {
    implicit val elements: ClassTag[T] = rdd.classTag
    JavaRDD.fromRDD(of(rdd.rdd))
  }
}

/** What Scala finds where an RDD is to stay in the pool. */
final class PooledRDDs[T: ClassTag] private[rdd] (all: RDD[T]) {

  /** Gives an RDD with the same elements, which stay in the pool once a task has computed them. */
  def persistInPool(): RDD[T] = PoolRDD.of(all)
}

/** Elements of another RDD in pieces, of which each is a serialized stream. */
private final class PooledPieces[T: ClassTag](input: RDD[T]) extends RDD[PooledPiece](input) {

  override protected def getPartitions: Array[Partition] = firstParent[T].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[PooledPiece] = {
    val elements = firstParent[T].iterator(split, context)
    val serializer = SparkEnv.get.serializer.newInstance()
    // Where no block will have the pieces, as after unpersist(), nobody would close them.
    val pool =
      if (getStorageLevel.useMemory) ExecutorCache.get().map(_.owned)
      else None

    def piece(): PooledPiece = {
      val bytes = new ByteArrayOutputStream(PooledPieces.Bytes / 16)
      val stream = serializer.serializeStream(bytes)
      while (elements.hasNext && bytes.size < PooledPieces.Bytes) {
        stream.writeObject(elements.next())
      }
      stream.close()
      val made = bytes.toByteArray
      pool.flatMap(owned => Option(owned.put(OwnedKeys.next(), ByteBuffer.wrap(made)))) match {
        case Some(chunk) => PooledPiece.of(chunk)
        case None => PooledPiece.of(made)
      }
    }

    val pieces = new Iterator[PooledPiece] {
      override def hasNext: Boolean = elements.hasNext
      override def next(): PooledPiece = piece()
    }
    new TaskBlock(pieces, context)
  }
}

private object PooledPieces {

  /** Bytes of a piece, about. A reader has one on the heap. */
  private val Bytes = 4 << 20
}
