package io.oap.tpcds.data

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.oap.tpcds.Json

/**
 * How Parquet files are written. All tables of a scale's folder are written in the same way, which
 * the folder tells in a file of its own; without that file it is [[ParquetLayout.Default]].
 *
 * @param codec compression, as Spark names it
 * @param dictionary whether columns may have dictionaries; plain encoding otherwise
 * @param rowGroupBytes bytes of a row group before compression, at most
 * @param fileRows rows of a file, about; no row group has more
 */
final case class ParquetLayout(
    codec: String,
    dictionary: Boolean,
    rowGroupBytes: Long,
    fileRows: Long) {

  def writeOptions: Map[String, String] = Map(
    "compression" -> codec,
    "parquet.enable.dictionary" -> dictionary.toString,
    "parquet.block.size" -> rowGroupBytes.toString)

  /**
   * Makes this the layout of a folder.
   *
   * @throws java.io.IOException when the folder has another one
   */
  def claim(folder: Path, conf: Configuration): Unit = {
    val fs = folder.getFileSystem(conf)
    fs.mkdirs(folder)
    val unfinished = ParquetLayout.fileIn(folder).suffix(".unfinished")
    val isEmpty = fs.listStatus(folder).forall(_.getPath.getName == unfinished.getName)
    if (isEmpty && this != ParquetLayout.Default) {
      val out = fs.create(unfinished)
      try out.write(Json.write(this).getBytes(UTF_8))
      finally out.close()
      fs.rename(unfinished, ParquetLayout.fileIn(folder))
    }
    val there = ParquetLayout.read(folder, conf)
    if (there != this) {
      throw new IOException(s"$folder holds other files: ${there.words}, not ${this.words}")
    }
  }

  def words: String = s"codec $codec, ${if (dictionary) "dictionaries" else "plain encoding"}, " +
    s"row groups of up to $rowGroupBytes bytes, files of about $fileRows rows"
}

object ParquetLayout {

  /** Spark's and Parquet's own, in files of 24 MB of store_sales. */
  val Default: ParquetLayout =
    ParquetLayout("snappy", dictionary = true, 128L << 20, fileRows = 500000)

  private def fileIn(folder: Path): Path = new Path(folder, "_layout.json")

  def read(folder: Path, conf: Configuration): ParquetLayout = {
    val fs = folder.getFileSystem(conf)
    val file = fileIn(folder)
    if (!fs.exists(file)) Default
    else {
      val in = fs.open(file)
      try Json.read(new String(in.readAllBytes(), UTF_8), classOf[ParquetLayout])
      finally in.close()
    }
  }
}
