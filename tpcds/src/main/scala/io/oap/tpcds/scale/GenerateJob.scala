package io.oap.tpcds.scale

import io.oap.tpcds.{DataFolder, Json, ParquetLayout, Progress, Systems, TpcdsTable}

/**
 * What a person asked dev/tpcds to generate. The script has checked it.
 *
 * @param data folder or URL of the data of all scales
 * @param tables names; empty means all 24
 * @param partitioned whether tables that have a partition column are also laid out by it
 */
final case class GenerateOptions(
    data: String,
    scale: Double,
    tables: Seq[String],
    partitioned: Boolean,
    layout: ParquetLayout)

/** The job behind dev/tpcds generate. What is there already is left as it is. */
object GenerateJob {

  def main(arguments: Array[String]): Unit = Job.exit {
    generate(Json.read(arguments.head, classOf[GenerateOptions]), Progress.ofTerminal())
  }

  private[scale] def generate(options: GenerateOptions, progress: Progress): Int = {
    val spark = Systems.start().sparkAlone
    val tables =
      TpcdsTable.All.filter(t => options.tables.isEmpty || options.tables.contains(t.name))
    val folder = new DataFolder(options.data, options.scale)
    folder.complete(spark, tables, options.partitioned, options.layout, progress)
    progress.say(s"complete: ${DataFolder.tables(tables.size)}, ${options.layout.words}; " +
      "rows counted against TPC-DS where it says how many.")
    0
  }
}
