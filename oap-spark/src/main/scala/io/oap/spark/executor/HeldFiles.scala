package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.FileStatus

import io.oap.cache.ColumnCache
import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.cache.quota.TablePins
import io.oap.common.ChunkKey

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

private[spark] object HeldFiles {

  /** What this process holds of a file, by its path, length and modification time. */
  def sumsOf(file: FileStatus): Option[HeldSums] =
    sums.get.files.get((file.getPath.toString, file.getLen, file.getModificationTime))

  /** Something else than before whenever [[sumsOf]] may give other ones. */
  def version: AnyRef = sums.get

  /** What is held of a file, by leaf column. */
  final class HeldSums(
      val leaves: Array[String],
      val leafBytes: Array[Long],
      val heldBytes: Array[Long])

  /** By path, length and modification time; is equal to itself only. */
  private final class AllSums(val files: Map[(String, Long, Long), HeldSums])

  private val sums = new Remembered[AllSums](
    () => opened.map(cache => (System.identityHashCode(cache), cache.contentVersion())),
    () =>
      new AllSums(here().map { file =>
        val held = new Array[Long](file.leaves.length)
        file.chunks.distinctBy(chunk => (chunk.rowGroup, chunk.leaf)).foreach(chunk =>
          held(chunk.leaf) += chunk.encodedBytes)
        (file.path, file.length, file.modificationTime) ->
          new HeldSums(file.leaves, file.leafBytes, held)
      }.toMap)
  )

  /**
   * The files of which this process holds chunks, in no order. A file that was opened long ago and
   * forgotten, because it held nothing for a while, is left out until it is opened again.
   */
  private[spark] def here(): Seq[HeldFile] = opened.fold(Seq.empty[HeldFile])(of)

  private def opened: Option[ColumnCache] = ExecutorCache.ifOpened.flatMap(_.toOption)

  private def of(cache: ColumnCache): Seq[HeldFile] =
    cache.snapshot().chunks.asScala.groupBy(_.key.file).toSeq.flatMap { case (id, chunks) =>
      Option(cache.files.get(id)).map(held(_, chunks.toSeq, cache.kept))
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
          key.representation != ChunkKey.ENCODED,
          chunk.bytes,
          file.chunkBytes()(key.rowGroup * leaves + key.column),
          kept.isKept(key))
      }.toArray,
      file.reads.found,
      file.reads.asked
    )
  }
}
