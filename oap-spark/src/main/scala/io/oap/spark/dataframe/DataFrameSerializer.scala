package io.oap.spark.dataframe

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.columnar.{CachedBatch, SimpleMetricsCachedBatchSerializer}
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.storage.StorageLevel

/**
 * Keeps cached DataFrames with flat columns as vector chunks: what Spark calls by
 * `spark.sql.cache.serializer`. All others, and those of sessions that want it so, are kept by
 * Spark's own serializer. Both kinds can be read by any session, whatever it wants by then.
 */
final class DataFrameSerializer extends SimpleMetricsCachedBatchSerializer {
  private val sparks = new DefaultCachedBatchSerializer

  override def supportsColumnarInput(schema: Seq[Attribute]): Boolean = false

  override def convertColumnarBatchToCachedBatch(
      input: RDD[ColumnarBatch],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] =
    sparks.convertColumnarBatchToCachedBatch(input, schema, storageLevel, conf)

  override def convertInternalRowToCachedBatch(
      input: RDD[InternalRow],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] = {
    val types = schema.map(_.dataType)
    if (DataFrames.areOn(conf) && DataFrames.areFlat(types)) {
      // What Spark would serialize at once does not go to the pool and out of it again.
      val staysAsObjects = storageLevel.useMemory && storageLevel.deserialized
      new FilledBatches(input, new BatchFill(types.toArray, staysAsObjects))
    } else {
      sparks.convertInternalRowToCachedBatch(input, schema, storageLevel, conf)
    }
  }

  override def supportsColumnarOutput(schema: StructType): Boolean =
    if (DataFrames.areOn(SQLConf.get)) DataFrames.areFlat(schema.map(_.dataType))
    else sparks.supportsColumnarOutput(schema)

  override def convertCachedBatchToColumnarBatch(
      input: RDD[CachedBatch],
      cacheAttributes: Seq[Attribute],
      selectedAttributes: Seq[Attribute],
      conf: SQLConf): RDD[ColumnarBatch] =
    if (FilledBatches.areIn(input)) {
      val columns = BatchReads.columns(cacheAttributes, selectedAttributes)
      input.mapPartitions(BatchReads.of(_, columns))
    } else if (sparks.supportsColumnarOutput(DataTypeUtils.fromAttributes(cacheAttributes))) {
      sparks.convertCachedBatchToColumnarBatch(input, cacheAttributes, selectedAttributes, conf)
    } else {
      val types = selectedAttributes.map(_.dataType).toArray
      sparks.convertCachedBatchToInternalRow(input, cacheAttributes, selectedAttributes, conf)
        .mapPartitions(new RowColumns(_, types))
    }

  override def convertCachedBatchToInternalRow(
      input: RDD[CachedBatch],
      cacheAttributes: Seq[Attribute],
      selectedAttributes: Seq[Attribute],
      conf: SQLConf): RDD[InternalRow] =
    if (FilledBatches.areIn(input)) {
      val columns = BatchReads.columns(cacheAttributes, selectedAttributes)
      input.mapPartitions(BatchReads.rowsOf(_, columns))
    } else {
      sparks.convertCachedBatchToInternalRow(input, cacheAttributes, selectedAttributes, conf)
    }
}
