package io.oap.spark

import java.nio.file.{Files, Path}

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.oap.cache.stats.CacheCounters
import io.oap.spark.scan.{CachedParquetScan, CachedScanExec}

/**
 * A suite with one Spark session that has the extension. "Spark alone" is the same session with
 * the cache switched off, so that both sides see the same catalog. When the suite ends, no chunk
 * may be pinned.
 */
abstract class CacheSuite extends AnyFunSuite with BeforeAndAfterAll with AdaptiveSparkPlanHelper {

  protected var spark: SparkSession = _
  protected var folder: Path = _

  /** Settings of the session besides the extension. */
  protected def settings: Map[String, String] = Map("spark.oap.pool.size" -> "128m")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val temporary = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir")))
    folder = Files.createTempDirectory(temporary, "oap-spark-test")
    spark = newApplication(settings)
  }

  /** The session of an application with these settings; there is one at a time. */
  protected def newApplication(settings: Map[String, String]): SparkSession = {
    val builder = SparkSession
      .builder()
      .master("local[2]")
      .appName(getClass.getSimpleName)
      .config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toString)
      .config("spark.sql.extensions", classOf[OapExtensions].getName)
    settings.foreach { case (key, value) => builder.config(key, value) }
    builder.getOrCreate()
  }

  override protected def afterAll(): Unit =
    try assertNothingPinned()
    finally {
      spark.stop()
      // What Spark and the formats run in the background may still make or remove files.
      Eventually.eventually(soon)(deleteTree(folder))
      super.afterAll()
    }

  /** Waits for tasks that were stopped and for loads in the background: they end later than the query. */
  protected def assertNothingPinned(): Unit = Eventually.eventually(soon) {
    CacheControl.localPool().foreach(pool => assert(pool.pinnedBytes() === 0, "pins are left"))
  }

  protected val soon = Eventually.timeout(Span(20, Seconds))

  private def deleteTree(root: Path): Unit =
    Using.resource(Files.walk(root)) { paths =>
      paths.sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete(_))
    }

  protected def path(name: String): String = folder.resolve(name).toString

  /** Makes a writer begin a row group each so many rows, whatever their bytes. */
  protected def rowGroupsOf(rows: Int): Map[String, String] =
    Map("parquet.block.row.count.limit" -> rows.toString)

  /** Runs the body with settings of the session, and puts the former ones back. */
  protected def withConf[T](pairs: (String, String)*)(body: => T): T = {
    val before = pairs.map { case (key, _) => key -> spark.conf.getOption(key) }
    pairs.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None) => spark.conf.unset(key)
      }
  }

  /** Runs the body as Spark alone would. */
  protected def alone[T](body: => T): T = withConf("spark.oap.cache.enabled" -> "false")(body)

  /** What the body made the readers of this process count. */
  protected def counting[T](body: => T): (T, CacheCounters) = {
    val before = CacheControl.localCounters()
    val result = body
    (result, CacheControl.localCounters().minus(before))
  }

  /**
   * Runs a query alone, cold and warm, and compares the rows.
   *
   * @return what the warm run counted
   */
  protected def assertSameRows(query: => DataFrame): CacheCounters = {
    // A DataFrame keeps the plan of its first run; each run here needs a plan of its own.
    assert(query ne query, "give the expression that makes the DataFrame, not a value")
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    assertRows(rows(query), expected, "cold run")
    val (warm, counters) = counting(rows(query))
    assertRows(warm, expected, "warm run")
    counters
  }

  /** Compares what `rows` gave, and shows the first rows that differ rather than all. */
  protected def assertRows(actual: Seq[String], expected: Seq[String], run: String): Unit =
    if (actual != expected) {
      def first(rows: Seq[String]) = rows.take(3).map(_.take(300)).mkString("\n  ", "\n  ", "")
      fail(
        s"$run: ${actual.size} rows, Spark alone gives ${expected.size}. Only here:" +
          first(actual.diff(expected)) + "\nonly from Spark alone:" + first(expected.diff(actual)))
    }

  /**
   * Asserts equal rows of a query that must be served from the pool alone when it is warm.
   *
   * @param mayBeEmpty whether it may need no column chunk at all
   */
  protected def assertServed(query: => DataFrame, mayBeEmpty: Boolean = false): Unit = {
    val warm = assertSameRows(query)
    assert(mayBeEmpty || warm.chunksHit > 0, "nothing came from the pool")
    assert(warm.bytesFromFile === 0, "a warm run read from files")
  }

  /**
   * Runs a query alone, cold and warm, and compares what it comes to.
   *
   * @return what it came to
   */
  protected def assertSameOutcome(query: => DataFrame): Either[Seq[String], Seq[String]] = {
    val expected = alone(outcome(query))
    CacheControl.clear(spark)
    for (run <- Seq("cold run", "warm run")) {
      assertOutcome(outcome(query), expected, run)
    }
    expected
  }

  protected def assertOutcome(
      actual: Either[Seq[String], Seq[String]],
      expected: Either[Seq[String], Seq[String]],
      run: String): Unit = (actual, expected) match {
    case (Right(here), Right(there)) => assertRows(here, there, run)
    case (Left(here), Left(there)) => assert(here.toList === there.toList, run)
    case (Left(here), _) => fail(s"$run: $here, Spark alone gives rows")
    case (_, Left(there)) => fail(s"$run gives rows, Spark alone fails: $there")
  }

  /** What a query comes to: its rows, or its error as conditions or classes down the causes. */
  protected def outcome(query: => DataFrame): Either[Seq[String], Seq[String]] =
    try Right(rows(query))
    catch { case NonFatal(e) => Left(causes(e)) }

  private def causes(error: Throwable): Seq[String] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).map {
      case e: SparkThrowable if e.getCondition != null => e.getCondition
      case e => e.getClass.getName
    }.toSeq

  /** All rows, as text and in a fixed order, so that they compare whatever their types. */
  protected def rows(query: DataFrame): Seq[String] = query.collect().map(text).toSeq.sorted

  private def text(value: Any): String = value match {
    case row: Row => row.toSeq.map(text).mkString("[", ",", "]")
    case bytes: Array[Byte] => bytes.mkString("0x", " ", "")
    case map: scala.collection.Map[_, _] =>
      map.toSeq.map { case (k, v) => text(k) + "->" + text(v) }.sorted.mkString("{", ",", "}")
    case items: scala.collection.Iterable[_] => items.map(text).mkString("(", ",", ")")
    case double: Double => java.lang.Double.doubleToRawLongBits(double).toString
    case float: Float => java.lang.Float.floatToRawIntBits(float).toString
    case other => String.valueOf(other)
  }

  /** The cached scans of a plan, subqueries included. */
  protected def cachedScans(plan: SparkPlan): Seq[CachedParquetScan] =
    collectWithSubqueries(plan) { case CachedScanExec(_, scan) => scan }

  /** Runs a query and returns the plan it ended with. */
  protected def executed(query: DataFrame): SparkPlan = {
    query.collect()
    query.queryExecution.executedPlan
  }
}
