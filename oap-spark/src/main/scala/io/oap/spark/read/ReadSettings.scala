package io.oap.spark.read

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFilters, ParquetOptions}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter

import io.oap.cache.VectorChunks
import io.oap.cache.vector.VectorChunk
import io.oap.common.{ChunkKey, OapConfig}

/**
 * What the session says about reading Parquet, taken on the driver: configuration and options lose
 * their content on the way to an executor.
 */
private[spark] final case class ReadSettings(
    datetimeRebaseMode: String,
    int96RebaseMode: String,
    shiftsForeignInt96: Boolean,
    usesOffHeapVectors: Boolean,
    batchSize: Int,
    pushesFilters: Boolean,
    pushesDates: Boolean,
    pushesTimestamps: Boolean,
    pushesDecimals: Boolean,
    pushesStringPredicates: Boolean,
    inFilterThreshold: Int,
    isCaseSensitive: Boolean,
    representation: Representation) {

  /**
   * Whether a chunk is to become a vector chunk when it is decoded.
   *
   * @param isHeld whether the encoded chunk can be decoded without a look at the file
   */
  def promotes(vectors: VectorChunks, vector: ChunkKey, isHeld: Boolean): Boolean =
    (representation == Representation.Vector || isHeld) && vectors.isWanted(vector)

  /** The filters in Parquet's terms, as far as they have any, for a file of this schema. */
  def pushed(
      filters: Array[Filter],
      schema: MessageType,
      dates: RebaseSpec): Option[FilterPredicate] =
    if (pushesFilters && filters.nonEmpty) {
      val converter = new ParquetFilters(
        schema,
        pushesDates,
        pushesTimestamps,
        pushesDecimals,
        pushesStringPredicates,
        inFilterThreshold,
        isCaseSensitive,
        dates)
      filters.flatMap(converter.createFilter(_)).reduceOption(FilterApi.and)
    } else {
      None
    }
}

/** Which representation of a chunk the readers look for and make. */
private[spark] sealed trait Representation {

  /** Whether vector chunks are read and made at all. */
  def usesVectors: Boolean = this != Representation.Encoded
}

private[spark] object Representation {
  case object Encoded extends Representation
  case object Vector extends Representation
  case object Auto extends Representation

  /** @param batchSize rows of a batch of Spark's reader at most, as a user wants them */
  def of(conf: SQLConf, batchSize: Int): Representation =
    OapConfig.CACHE_REPRESENTATION.get(key => conf.getConfString(key, null)) match {
      case "encoded" => Encoded
      // A batch is a zone of a vector chunk: who asks for less, for memory's sake, gets less.
      case _ if batchSize < VectorChunk.ZONE_ROWS => Encoded
      case "vector" => Vector
      case _ => Auto
    }
}

private[spark] object ReadSettings {
  def of(conf: SQLConf, options: ParquetOptions): ReadSettings = ReadSettings(
    datetimeRebaseMode = options.datetimeRebaseModeInRead,
    int96RebaseMode = options.int96RebaseModeInRead,
    shiftsForeignInt96 = conf.isParquetINT96TimestampConversion,
    usesOffHeapVectors = conf.offHeapColumnVectorEnabled,
    batchSize = conf.parquetVectorizedReaderBatchSize,
    pushesFilters = conf.parquetFilterPushDown,
    pushesDates = conf.parquetFilterPushDownDate,
    pushesTimestamps = conf.parquetFilterPushDownTimestamp,
    pushesDecimals = conf.parquetFilterPushDownDecimal,
    pushesStringPredicates = conf.parquetFilterPushDownStringPredicate,
    inFilterThreshold = conf.parquetFilterPushDownInFilterThreshold,
    isCaseSensitive = conf.caseSensitiveAnalysis,
    representation = Representation.of(conf, conf.parquetVectorizedReaderBatchSize)
  )
}
