package io.oap.spark.filescan

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.memory.MemoryMode
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.orc.OrcOptions
import org.apache.spark.sql.execution.datasources.v2.orc.OrcPartitionReaderFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

/**
 * Makes Spark's vectorized readers of ORC files, in tasks.
 *
 * @param broadcast a configuration of [[CachingFileSystem]]
 * @param options of the table
 * @param pushesFilters whether readers may pass over rows by filters
 */
private[filescan] final case class OrcDecoding(
    broadcast: Broadcast[SerializableConfiguration],
    dataSchema: StructType,
    readSchema: StructType,
    partitionSchema: StructType,
    options: Map[String, String],
    isCaseSensitive: Boolean,
    pushesFilters: Boolean,
    memoryMode: MemoryMode) {

  def hadoopConf: Configuration = broadcast.value.value

  /**
   * The rows of a part of a file.
   *
   * @param batchSize rows of a batch at most
   */
  def reader(
      schema: StructType,
      filters: Array[Filter],
      batchSize: Int,
      part: PartitionedFile): PartitionReader[ColumnarBatch] = {
    // A session's settings do not come with a task.
    val conf = new SQLConf
    conf.setConf(SQLConf.CASE_SENSITIVE, isCaseSensitive)
    conf.setConf(SQLConf.ORC_FILTER_PUSHDOWN_ENABLED, pushesFilters)
    conf.setConf(SQLConf.ORC_VECTORIZED_READER_BATCH_SIZE, batchSize)
    OrcPartitionReaderFactory(
      conf,
      // Spark notes the schema and the filters down in it before it takes them from there, and other
      // tasks of this process read other columns at the same time.
      new OwnConfiguration(new Configuration(hadoopConf)),
      dataSchema,
      schema,
      partitionSchema,
      filters,
      None,
      new OrcOptions(options, conf),
      memoryMode
    ).buildColumnarReader(part)
  }
}

/** A configuration that is where it is needed, for what takes one that was broadcast. */
private final class OwnConfiguration(conf: Configuration)
    extends Broadcast[SerializableConfiguration](-1) {
  override protected def getValue(): SerializableConfiguration = new SerializableConfiguration(conf)

  override protected def doUnpersist(blocking: Boolean): Unit = ()

  override protected def doDestroy(blocking: Boolean): Unit = ()
}
