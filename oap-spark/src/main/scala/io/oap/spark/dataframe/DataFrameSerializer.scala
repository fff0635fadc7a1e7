package io.oap.spark.dataframe

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.columnar.{CachedBatch, SimpleMetricsCachedBatchSerializer}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.storage.StorageLevel

import io.oap.spark.internals.SparkInternals

/**
 * Keeps cached DataFrames as vector chunks: what Spark calls by `spark.sql.cache.serializer`. Those
 * with a column that has no form there, and those of sessions that want it so, are kept by
 * Spark's own serializer. Both kinds can be read by any session, whatever it wants by then.
 */
final class DataFrameSerializer extends SimpleMetricsCachedBatchSerializer {
  private val sparks = new DefaultCachedBatchSerializer

  override def supportsColumnarInput(schema: Seq[Attribute]): Boolean =
    DataFrames.areOn(SQLConf.get) && DataFrames.areFlat(schema.map(_.dataType))

  /** An adaptive plan seldom ends in columns: Spark would make them of its rows first. */
  override def convertToColumnarPlanIfPossible(plan: SparkPlan): SparkPlan = plan match {
    case _: AdaptiveSparkPlanExec => plan
    case _ => super.convertToColumnarPlanIfPossible(plan)
  }

  override def convertColumnarBatchToCachedBatch(
      input: RDD[ColumnarBatch],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] =
    new FilledBatches(input, new ColumnsFill(shape(schema, storageLevel, conf)))

  override def convertInternalRowToCachedBatch(
      input: RDD[InternalRow],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] =
    if (areOurs(schema, conf))
      new FilledBatches(input, new RowsFill(shape(schema, storageLevel, conf)))
    else
      new SparksBatches(
        sparks.convertInternalRowToCachedBatch(input, schema, storageLevel, conf))

  private def areOurs(schema: Seq[Attribute], conf: SQLConf): Boolean =
    DataFrames.areOn(conf) && schema.forall(column => DataFrames.stored(column.dataType).isDefined)

  private def shape(schema: Seq[Attribute], level: StorageLevel, conf: SQLConf): BatchShape = {
    // What Spark would serialize at once does not go to the pool and out of it again.
    val staysAsObjects = level.useMemory && level.deserialized
    BatchShape(schema.map(_.dataType).toArray, staysAsObjects, DataFrames.mostRows(conf))
  }

  /** Passes over batches as Spark does, and has what is read of ours drop rows. */
  override def buildFilter(
      predicates: Seq[Expression],
      cachedAttributes: Seq[Attribute])
      : (Int, Iterator[CachedBatch]) => Iterator[CachedBatch] = {
    val byBounds = super.buildFilter(predicates, cachedAttributes)
    if (predicates.forall(_.deterministic))
      conditions(predicates, cachedAttributes).fold(byBounds)(one =>
        (index, batches) => one.on(byBounds(index, batches)))
    else
      // `rand() < 0.1` decides by how many rows came before. Of ours none may be kept from it, by what
      // stands before it neither: generated code asks IS NOT NULL after all others. Batches of Spark's
      // are passed over as in Spark alone. A partition has batches of one kind.
      (index, batches) => {
        val all = batches.buffered
        if (all.headOption.exists(FilledBatches.isOurs)) all else byBounds(index, all)
      }
  }

  private def conditions(
      predicates: Seq[Expression],
      cached: Seq[Attribute]): Option[BatchConditions] =
    if (DataFrames.areOn(SQLConf.get))
      SparkInternals.activeContext().flatMap(BatchConditions.of(predicates, cached, _))
    else None

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
      SoundBatches.of(input).mapPartitions(BatchReads.of(_, columns))
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
      SoundBatches.of(input).mapPartitions(BatchReads.rowsOf(_, columns))
    } else {
      sparks.convertCachedBatchToInternalRow(input, cacheAttributes, selectedAttributes, conf)
    }
}
