package io.oap.tpcds.scale

import io.oap.tpcds.{Json, Progress, Systems}
import io.oap.tpcds.data.{DataFolder, ParquetLayout, TpcdsTable}
import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.storage.StorageClass

/**
 * What a person asked dev/tpcds to generate. The script has checked it.
 *
 * @param data folder or URL of the data of all scales
 * @param tables names; empty means all 24
 * @param partitioned whether tables that have a partition column are also laid out by it
 * @param form how tables are kept, a word of [[TableForm]]; those of Parquet are made in any case
 */
final case class GenerateOptions(
    data: String,
    scale: Double,
    tables: Seq[String],
    partitioned: Boolean,
    form: String,
    layout: ParquetLayout)

/** The job behind dev/tpcds generate. What is there already is left as it is. */
object GenerateJob {

  def main(arguments: Array[String]): Unit = Job.exit {
    generate(Json.read(arguments.head, classOf[GenerateOptions]), Progress.ofTerminal())
  }

  private[scale] def generate(options: GenerateOptions, progress: Progress): Int = {
    val form = TableForm.named(options.form)
    val settings = form.settings(options.data, options.scale, StorageClass.LOCAL)
    val spark = Systems.start(settings).sparkAlone
    val tables =
      TpcdsTable.All.filter(t => options.tables.isEmpty || options.tables.contains(t.name))
    val folder = new DataFolder(options.data, options.scale)
    // Other forms are made from tables that are not partitioned.
    val isPartitioned = options.partitioned && form == TableForm.Parquet
    folder.complete(spark, tables, isPartitioned, options.layout, progress)
    form.data(options.data, options.scale).complete(spark, tables, options.partitioned, progress)
    progress.say(s"complete: ${DataFolder.tables(tables.size)}, ${options.layout.words}; " +
      "rows counted against TPC-DS where it says how many.")
    0
  }
}
