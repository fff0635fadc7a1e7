package io.oap.spark.dataframe;

/** An element of a block of Spark's that owns chunks of the pool. */
public interface ChunkOwner extends AutoCloseable {

  /** Whether the chunks have the bytes that they were put with; reads all of them. */
  boolean isSound();

  @Override
  void close();
}
