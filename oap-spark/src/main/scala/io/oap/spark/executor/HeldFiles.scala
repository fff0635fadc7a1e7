package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.cache.ColumnCache
import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.cache.quota.TablePins
import io.oap.common.EntryKind

/**
 * What one executor holds of one file.
 *
 * @param path fully qualified
 * @param length bytes of the file
 * @param modificationTime milliseconds since the epoch
 * @param leaves for each leaf column of the file, the top-level column it belongs to
 * @param leafBytes encoded bytes of each leaf column, all row groups of the file together
 * @param chunks what it holds
 * @param chunksFound how many of the chunks that its readers asked for were in its pool
 * @param chunksAsked all that they asked for
 */
private[spark] final case class HeldFile(
    path: String,
    length: Long,
    modificationTime: Long,
    etag: String,
    leaves: Array[String],
    leafBytes: Array[Long],
    chunks: Array[HeldChunk],
    chunksFound: Long,
    chunksAsked: Long) {

  /** Which version of which file. */
  def identity: (String, Long, Long, String) = (path, length, modificationTime, etag)
}

/**
 * A chunk in the pool of an executor.
 *
 * @param leaf ordinal of its leaf column in the file
 * @param bytes what it takes in the pool
 * @param encodedBytes its length in the file
 * @param isPinned whether it stays until it is unpinned
 */
private[spark] final case class HeldChunk(
    rowGroup: Int,
    leaf: Int,
    isVector: Boolean,
    bytes: Long,
    encodedBytes: Long,
    isPinned: Boolean)

private object HeldFiles {

  /**
   * Lists the files of a part of which the cache holds chunks, in no order. A file that was opened
   * long ago and forgotten, because it held nothing for a while, is left out until it is opened again.
   */
  def of(cache: ColumnCache, part: Part): Seq[HeldFile] = {
    val chunks = cache.snapshot().chunks.asScala.filter(chunk => part.has(chunk.key.file))
    chunks.groupBy(_.key.file).toSeq.flatMap { case (id, some) =>
      Option(cache.files.get(id)).map(held(_, some.toSeq, cache.kept))
    }
  }

  private def held(file: KnownFile, chunks: Seq[HeldKey], kept: TablePins): HeldFile = {
    val leaves = file.columns.size
    val leafBytes = new Array[Long](leaves)
    file.chunkBytes.indices.foreach(i => leafBytes(i % leaves) += file.chunkBytes()(i))
    HeldFile(
      file.identity.path,
      file.identity.length,
      file.identity.modificationTime,
      file.identity.etag,
      file.columns.asScala.toArray,
      leafBytes,
      chunks.map { chunk =>
        val key = chunk.key
        HeldChunk(
          key.rowGroup,
          key.column,
          key.kind == EntryKind.VECTOR,
          chunk.bytes,
          file.chunkBytes()(key.rowGroup * leaves + key.column),
          kept.isKept(key))
      }.toArray,
      file.reads.found,
      file.reads.asked
    )
  }
}
