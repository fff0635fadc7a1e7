package io.oap.tpcds

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.time.Instant

import scala.util.Using

import com.sun.management.OperatingSystemMXBean
import org.apache.spark.launcher.JavaModuleOptions
import org.apache.spark.sql.SparkSession

import io.oap.tpcds.data.DataStorage

/** Where and with what something was measured: facts without which the numbers say nothing. */
final case class Circumstances(
    time: String,
    options: Map[String, Any],
    machine: Map[String, Any],
    versions: Map[String, String],
    configuration: Map[String, String])

object Circumstances {

  /** What begins so is of one process or one machine, and changes no time. */
  private val NotRecorded = Seq(
    "spark.app.",
    "spark.driver.host",
    "spark.driver.port",
    "spark.executor.id",
    "spark.files",
    "spark.jars",
    "spark.repl.",
    "spark.sql.warehouse.dir",
    "spark.submit.pyFiles",
    "spark.ui."
  )

  /** Results are shown to others. */
  private val Secret =
    "(?i)secret|password|passwd|token|credential|signature|\\b(key|sas)\\b".r.unanchored

  /** @param data where the data lies that is read: a folder of this machine, or a URL */
  def now(spark: SparkSession, options: Map[String, Any], data: String): Circumstances =
    Circumstances(
      Instant.now().toString,
      options,
      machine(spark) ++ DataStorage().facts(data),
      versions(spark),
      configuration(spark.conf.getAll))

  /** What is worth recording of Spark's configuration, without what is secret. */
  private[tpcds] def configuration(all: Map[String, String]): Map[String, String] = for {
    (key, value) <- all
    if !NotRecorded.exists(key.startsWith(_))
    known = if (key.endsWith("JavaOptions")) asGiven(value) else value
    if known.nonEmpty
  } yield key -> (if (Secret.matches(key) || Secret.matches(known)) "(not shown)" else known)

  /** Java options without those that Spark and our scripts add to all applications. */
  private def asGiven(options: String): String = {
    val ours = options.replace(JavaModuleOptions.defaultModuleOptions(), "").split("\\s+")
    ours.filterNot(
      _.matches("|-Dlog4j2\\.configurationFile=.*|-Djava\\.net\\.preferIPv6Addresses=.*"))
      .mkString(" ")
  }

  private def machine(spark: SparkSession): Map[String, Any] = {
    val memory = ManagementFactory.getOperatingSystemMXBean match {
      case bean: OperatingSystemMXBean => bean.getTotalMemorySize
      case _ => -1L
    }
    Map(
      "processor" -> cpuinfo("model name").getOrElse(System.getProperty("os.arch")),
      "processors" -> Runtime.getRuntime.availableProcessors(),
      "memoryBytes" -> memory,
      "kernel" -> s"${System.getProperty("os.name")} ${System.getProperty("os.version")}",
      "memoryNodes" -> memoryNodes,
      "taskSlots" -> spark.sparkContext.defaultParallelism
    )
  }

  private def versions(spark: SparkSession): Map[String, String] = Map(
    "spark" -> spark.version,
    "oap" -> Option(getClass.getPackage.getImplementationVersion).getOrElse("unpackaged"),
    "scala" -> scala.util.Properties.versionNumberString,
    "java" -> System.getProperty("java.vm.version")
  )

  private def memoryNodes: Int = {
    val nodes = Option(Path.of("/sys/devices/system/node").toFile.list())
    nodes.fold(1)(_.count(_.matches("node[0-9]+")))
  }

  private def cpuinfo(key: String): Option[String] = {
    val file = Path.of("/proc/cpuinfo")
    if (!Files.isReadable(file)) None
    else Using.resource(Files.lines(file)) { lines =>
      val found = lines.filter(_.startsWith(key)).findFirst()
      if (found.isPresent) Some(found.get().split(":", 2).last.trim) else None
    }
  }
}
