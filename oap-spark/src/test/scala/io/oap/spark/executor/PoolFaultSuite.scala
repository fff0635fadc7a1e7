package io.oap.spark.executor

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.util.Properties
import java.util.concurrent.TimeUnit

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.pool.NativeLibrary
import io.oap.spark.{CacheSuite, LogLines, OapExtensions}

/** A pool that is too small for a row group, or for one of its chunks. */
class TinyPoolSuite extends CacheSuite {
  override protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "1m")

  /** Bytes that no codec makes smaller: as many pieces of 32 hexadecimal digits as it takes. */
  private def noise(bytes: Int, seed: Int): String =
    (0 until bytes / 32).map(i => s"md5(concat(id, '-$seed-$i'))").mkString("concat(", ",", ")")

  private def write(name: String, rowCount: Int, columns: String*): () => DataFrame = {
    spark.range(0, rowCount.toLong, 1, 1)
      .selectExpr("id" +: columns.zipWithIndex.map { case (text, i) => s"$text as c$i" }: _*)
      .write
      .option("compression", "none")
      .option("parquet.enable.dictionary", "false")
      .parquet(path(name))
    () => spark.read.parquet(path(name))
  }

  test("pool full of chunks that the reader itself has pinned") {
    val wide = write("wide", 2000, (0 until 10).map(noise(128, _)): _*)
    assertSameRows(wide())
    val (_, counters) = counting(rows(wide()))
    assert(counters.chunksBypassed > 0)
    assert(counters.chunksHit + counters.chunksBypassed + counters.chunksMissed === 11)
    // What fits is served as ever.
    assertServed(wide().select("id", "c3"))
  }

  test("chunk larger than the pool") {
    val long = write("long", 5000, noise(512, 1))
    assertSameRows(long())
    val (_, counters) = counting(rows(long()))
    assert(counters.chunksBypassed === 1)
    assert(counters.chunksHit + counters.chunksMissed === 1)
    assertServed(long().select("id"))
  }
}

/** A pool that cannot be had: the queries go on, and one warning says why. */
class PoolFaultSuite extends AnyFunSuite with BeforeAndAfterAll {

  private val folder: Path = {
    val temporary = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir")))
    Files.createTempDirectory(temporary, "oap-pool-fault")
  }

  override protected def afterAll(): Unit = {
    Using.resource(Files.walk(folder)) { paths =>
      paths.sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete(_))
    }
    super.afterAll()
  }

  /** Runs `ReadTwice` in a JVM of its own with this one's class path. */
  private def inOtherJvm(options: Seq[String]): Seq[String] = {
    val flags = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(flag => Seq("--add-", "-D", "-XX:").exists(flag.startsWith))
    val program = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val output = Files.createTempFile(folder, "output", ".txt")
    val command = (program +: "-Xmx1g" +: flags) ++ options ++ Seq(
      "-cp",
      System.getProperty("java.class.path"),
      ReadTwice.getClass.getName.stripSuffix("$"),
      folder.toString)
    val process = new ProcessBuilder(command.asJava)
      .redirectErrorStream(true)
      .redirectOutput(output.toFile)
      .start()
    try assert(process.waitFor(5, TimeUnit.MINUTES), "it does not end")
    finally process.destroyForcibly()
    val lines = Using.resource(Source.fromFile(output.toFile))(_.getLines().toSeq)
    assert(process.exitValue() === 0, lines.mkString("\n"))
    lines
  }

  /** Runs `ReadTwice` here, in an application with settings of its own; what it logs. */
  private def here(settings: Seq[(String, String)]): Seq[String] =
    LogLines.of(
      ReadTwice.main(folder.toString +: settings.map { case (k, v) => s"$k=$v" }.toArray))

  /** One warning said so, with all these words. */
  private def assertOff(lines: Seq[String])(words: String*): Unit = {
    val warnings = lines.filter(_.contains("column cache is off"))
    assert(warnings.size === 1, lines.mkString("\n"))
    words.foreach(word => assert(warnings.head.contains(word)))
  }

  private def nativePath(file: Path): Seq[String] =
    Seq(s"-D${NativeLibrary.PATH_PROPERTY}=$file")

  test("native library that is missing") {
    val nowhere = folder.resolve("nowhere.so")
    assertOff(inOtherJvm(nativePath(nowhere)))(nowhere.toString, NativeLibrary.PATH_PROPERTY)
  }

  test("native library that is none") {
    val text = Files.writeString(folder.resolve("text.so"), "not a library")
    assertOff(inOtherJvm(nativePath(text)))(text.toString)
  }

  test("native library of another version") {
    val properties = new Properties
    Using.resource(classOf[NativeLibrary].getResourceAsStream("version.properties"))(
      properties.load)
    val version = properties.getProperty("version")
    val machine = System.getProperty("os.arch").replace("amd64", "x86_64")
    val library = Using.resource(
      classOf[NativeLibrary].getResourceAsStream(s"/io/oap/native/linux-$machine/liboap.so"))(
      _.readAllBytes())
    // The same library, but for the first digit of the version it tells.
    val at = new String(library, "ISO-8859-1").indexOf(version + "\u0000")
    assert(at > 0)
    library(at) = '9'
    val other = Files.write(folder.resolve("other.so"), library)
    assertOff(inOtherJvm(nativePath(other)))(
      s"version 9${version.drop(1)}",
      s"the jar needs $version")
  }

  test("pool path that does not exist") {
    val nowhere = folder.resolve("nowhere")
    assertOff(here(Seq("spark.oap.pool.path" -> nowhere.toString)))(nowhere.toString)
  }

  test("a path that does not exist, of a pool that is to be reopened: one thing is said") {
    val nowhere = folder.resolve("nowhere")
    val lines =
      here(Seq("spark.oap.pool.path" -> nowhere.toString, "spark.oap.pool.reopen" -> "true"))
    assertOff(lines)(nowhere.toString)
    assert(!lines.exists(_.contains("opened without")), lines.mkString("\n"))
  }

  test("more heap for footers than there is") {
    def warnings(size: String) =
      here(Seq("spark.oap.cache.footerSize" -> size, "spark.oap.pool.size" -> "8m"))
        .filter(_.contains("spark.oap.cache.footerSize"))
    assert(warnings("64g").map(_.contains("a quarter of the heap")) === Seq(true))
    assert(warnings("64m") === Nil)
  }

  test("pool path that is a file") {
    val file = Files.createFile(folder.resolve("file"))
    assertOff(here(Seq("spark.oap.pool.path" -> file.toString)))(file.toString)
  }

  test("pool path without room") {
    val memory = Path.of("/dev/shm")
    assume(Files.isDirectory(memory), "there is no tmpfs to ask for too much")
    val store = Files.getFileStore(memory)
    assume(store.`type`() == "tmpfs", "there is no tmpfs to ask for too much")
    // More than it could ever hold: it refuses at once, without taking what there is.
    val settings = Seq(
      "spark.oap.pool.path" -> memory.toString,
      "spark.oap.pool.size" -> (store.getTotalSpace + (1L << 30)).toString)
    assertOff(here(settings))(memory.toString, "no room")
  }

  test("memory node without so much memory") {
    val meminfo = Path.of("/sys/devices/system/node/node0/meminfo")
    assume(Files.isReadable(meminfo), "this system does not tell of memory nodes")
    // All that it has; a part of it is always taken.
    val total = Files.readAllLines(meminfo).asScala
      .collectFirst { case s"${_}MemTotal:$kibibytes kB" => kibibytes.trim.toLong << 10 }
    val settings = Seq(
      "spark.oap.pool.medium" -> "node",
      "spark.oap.pool.nodes" -> "0",
      "spark.oap.pool.size" -> total.get.toString)
    assertOff(here(settings))("memory of nodes 0", "a node has not that much memory free")
  }
}

/** Writes a table and reads it twice; fails when the rows are wrong. */
object ReadTwice {

  /** @param arguments a folder for the table, then settings as key=value */
  def main(arguments: Array[String]): Unit = {
    val builder = SparkSession.builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.extensions", classOf[OapExtensions].getName)
    arguments.drop(1).map(_.split("=", 2)).foreach(pair => builder.config(pair(0), pair(1)))
    val spark = builder.getOrCreate()
    try {
      val table = Files.createTempDirectory(Path.of(arguments(0)), "table").resolve("t").toString
      spark.range(0, 1000, 1, 4).selectExpr("id", "concat('s', id) as s").write.parquet(table)
      for (_ <- 1 to 2) {
        val row = spark.read.parquet(table).selectExpr("sum(id)", "count(s)").head()
        require(row.getLong(0) == 499500 && row.getLong(1) == 1000, row)
      }
    } finally spark.stop()
  }
}
