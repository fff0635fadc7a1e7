package io.oap.spark.ui

import java.lang.management.ManagementFactory
import java.net.{HttpURLConnection, URI, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import javax.management.ObjectName

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.xml.{Elem, NodeSeq, XML}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.Row
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.read.ScanMetrics

/** The tab, its REST and the metrics, as a browser and a monitoring system get them. */
class CacheTabSuite extends CacheSuite {
  private val hostile = "<b>&amp;\"x'%3Ci%3E;"

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0",
    "spark.metrics.conf.*.sink.jmx.class" -> "org.apache.spark.metrics.sink.JmxSink",
    "spark.metrics.conf.*.sink.prometheusServlet.class" ->
      "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path" -> "/metrics/prometheus"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("a", "b", "c", hostile))
      spark.range(0, 1000, 1, 1).selectExpr("id", "id + 1 as next").write.parquet(path(name))
    for (name <- Seq("a", "b", "a", hostile)) read(name)
    eventually(timeout(1.minute))(assert(json("scans").size === 4))
  }

  private def read(name: String): Unit = spark.read.parquet(path(name)).collect()

  private def status(address: String): Int =
    open(address).getResponseCode

  private def open(address: String): HttpURLConnection =
    new URI(spark.sparkContext.uiWebUrl.get + address).toURL.openConnection()
      .asInstanceOf[HttpURLConnection]

  private def get(address: String): String =
    Using.resource(Source.fromInputStream(open(address).getInputStream, "UTF-8"))(_.mkString)

  private def json(what: String): JsonNode = new ObjectMapper().readTree(get(s"/oap/api/v1/$what"))

  /** The page as XML, which it is only if all is escaped. */
  private def page(address: String): Elem = {
    val html = get(address).stripPrefix("<!DOCTYPE html>").replace("&nbsp;", " ")
    // Browsers take an ampersand in Spark's links for what it is.
    XML.loadString(html.replaceAll("&(?!(amp|lt|gt|quot|#x?[0-9A-F]+);)", "&amp;"))
  }

  /** Rows of a table of the page, by column. */
  private def rows(page: Elem, tag: String): Seq[Map[String, String]] = {
    val table = (page \\ "table").filter(t => (t \ "@id").text == s"$tag-table")
    val titles = (table \ "thead" \\ "th").map(_.text.trim.stripSuffix("▾").stripSuffix("▴").trim)
    (table \ "tbody" \ "tr").map(row => titles.zip((row \ "td").map(_.text.trim)).toMap)
  }

  private def sqlRow: Row =
    spark.sql("SELECT hits, misses, bytes_from_pool, used_bytes FROM oap.system.executors").head()

  private def metric(text: String, name: String): Long =
    text.linesIterator.find(_.startsWith(name)).getOrElse(fail(s"no $name in $text"))
      .split(" ").last.toDouble.toLong

  test("the same number in SQL, on the page, in REST, in Prometheus and in JMX") {
    read("b")
    eventually(timeout(1.minute), interval(200.millis)) {
      val inSql = sqlRow.toSeq.map(_.asInstanceOf[Long])
      val executor = json("executors").get(0).get("report")
      val readers = executor.get("readers")
      assert(inSql === Seq(
        readers.get("hits").asLong,
        readers.get("misses").asLong,
        readers.get("bytesFromPool").asLong,
        executor.get("pool").get("usedBytes").asLong))
      val shown = rows(page("/oap/"), "executors").head
      assert(inSql.take(2) === Seq(shown("Hits").toLong, shown("Misses").toLong))
      assert(shown("Executor ID") === "driver" && shown("State") === "open")
      val sums = json("summary").get("readers")
      assert(inSql.take(2) === Seq(sums.get("hits").asLong, sums.get("misses").asLong))
      val application = spark.sparkContext.applicationId
      val prefix = s"metrics_${application.replaceAll("[^a-zA-Z0-9]", "_")}_driver_oap_"
      val ofSpark = get("/metrics/prometheus")
      assert(inSql === Seq("hits", "misses", "bytesFromPool").map(name =>
        metric(ofSpark, s"$prefix${name}_Count")) :+ metric(ofSpark, s"${prefix}usedBytes_Value"))
      val ofExecutors = get("/oap/metrics/prometheus")
      assert(inSql === Seq("hits_total", "misses_total", "bytes_from_pool_total", "used_bytes")
        .map(name => metric(ofExecutors, s"oap_executor_$name{")))
      assert(ofExecutors.contains(s""",pool="$application/driver"}"""), "it is its own")
      val bean = new ObjectName(s"metrics:name=$application.driver.oap.hits,type=counters")
      assert(ManagementFactory.getPlatformMBeanServer.getAttribute(bean, "Count") === inSql.head)
    }
    assert(sqlRow.getLong(0) > 0 && sqlRow.getLong(3) === CacheControl.localPool().get.usedBytes)
  }

  test("every figure in SQL, REST, Prometheus and Spark's metrics") {
    read("b")
    eventually(timeout(1.minute), interval(200.millis)) {
      val inSql = spark.sql("SELECT * FROM oap.system.executors").head()
      val executor = json("executors").get(0).get("report")
      val summary = json("summary")
      val ofExecutors = get("/oap/metrics/prometheus")
      val ofSpark = get("/metrics/prometheus")
      for (figure <- Figure.values) {
        val value = inSql.getAs[Long](figure.column)
        def shown(json: JsonNode) = figure.shown(json.get(figure.field).asLong(-1))
        val (report, sums) =
          if (figure.isOfPool) (executor.get("pool"), summary)
          else (executor.get("readers"), summary.get("readers"))
        assert(shown(report) === value && shown(sums) === value, figure)
        assert(metric(ofExecutors, figure.prometheus + "{") === value, figure)
        assert(ofExecutors.contains(s"# HELP ${figure.prometheus} ${figure.meaning}"))
        val name = s"_driver_oap_${figure.gauge}_${if (figure.isCounter) "Count" else "Value"}{"
        val line = ofSpark.linesIterator.filter(_.contains(name)).toSeq
        assert(line.map(_.split(" ").last.toLong) === Seq(value), figure)
      }
      assert(inSql.getAs[Long]("misses_cold") > 0)
    }
  }

  test("every figure of readers is one of the scan, in SQL and REST") {
    val scans = spark.sql("SELECT * FROM oap.system.scans ORDER BY execution_id").collect()
    val last = json("scans").asScala.last.get("metrics")
    for (figure <- Figure.OF_READERS.asScala) {
      val value = scans.last.getAs[Long](figure.column)
      assert(last.get(figure.metric).asLong(-1) === value, figure)
      val scan = ScanMetrics.all.filter(_.name == figure.metric)
      assert(scan.map(_.description).toSeq === Seq(figure.label))
    }
    assert(ScanMetrics.all.length === Figure.OF_READERS.size)
  }

  test("a table has the same hit ratio in SQL, on the page and in REST") {
    for (_ <- 1 to 2) read("a")
    eventually(timeout(1.minute), interval(200.millis)) {
      val name = s"file:${path("a")}"
      val inSql = spark.sql(s"SELECT hit_ratio FROM oap.system.tables WHERE table = '$name'")
        .head().getDouble(0)
      val readers = json("tables").asScala.find(_.get("table").asText == name).get.get("readers")
      def counted(what: String) = readers.get(what).asDouble
      assert(inSql === counted("hits") / Seq("hits", "misses", "bypasses").map(counted).sum)
      assert(inSql > 0.5 && counted("misses") > 0)
      val shown = rows(page("/oap/?tables.pageSize=1000"), "tables").find(_("Table") == name).get
      assert(shown("Hit Ratio") === StatusColumn.percent(inSql))
    }
  }

  test("advice is that of SQL, in REST by executor and on the page of all together") {
    eventually(timeout(1.minute), interval(200.millis)) {
      val inSql = spark.sql("SELECT * FROM oap.system.advice").collect().toSeq
      val inRest = json("advice").asScala.toSeq.map { each =>
        Row(
          each.get("executor").asText,
          each.get("capacityBytes").asLong,
          each.get("changeBytes").asLong,
          each.get("hitRatio").asDouble,
          each.get("hitRatioChange").asDouble,
          each.get("askedBytes").asLong,
          each.get("advice").asText
        )
      }
      assert(inRest === inSql)
      assert(inSql.map(_.getString(0)).toSet === Set("driver", "all"))
      assert(inSql.forall(row => row.getDouble(3) > 0 && row.getLong(5) > 0))
      assert(rows(page("/oap/"), "advice").map(_("Advice")).toSet ===
        inSql.filter(_.getString(0) == "all").map(_.getString(6)).toSet)
    }
  }

  test("scans are those of SQL, and those of one execution are on a page of their own") {
    val inSql = spark.sql("SELECT execution_id, table, hits, misses FROM oap.system.scans")
      .collect().map(_.toSeq.map(_.toString)).toSet
    val shown = rows(page("/oap/?scans.pageSize=1000"), "scans").map { row =>
      Seq(row("SQL Execution").takeWhile(_.isDigit), row("Table"), row("Hits"), row("Misses"))
    }
    assert(shown.toSet === inSql)
    val id = shown.head.head
    val alone = page(s"/oap/execution/?id=$id")
    assert(rows(alone, "scans").size === shown.count(_.head == id))
    val links = (alone \\ "a").map(a => (a \ "@href").text)
    assert(links.contains(s"/SQL/execution/?id=$id"))
    assert(status(s"/SQL/execution/?id=$id") === 200)
    val ofRest = json(s"scans?execution=$id")
    assert(ofRest.asScala.map(_.get("execution").asText).toSet === Set(id))
    assert(rows(page("/oap/execution/?id=999999"), "scans").isEmpty)
  }

  test("missed chunks have their causes") {
    CacheControl.clear(spark)
    read("c")
    eventually(timeout(1.minute)) {
      val scan = rows(page("/oap/"), "scans").head
      assert(scan("Table") === s"file:${path("c")}")
      assert(scan("Misses") === "2" && scan("Causes") === "2 cold")
    }
  }

  test("names are escaped, on the page and in what is asked for") {
    val first = page("/oap/")
    assert((first \\ "b").isEmpty && (first \\ "i").isEmpty)
    assert(rows(first, "tables").map(_("Table")).contains(s"file:${path(hostile)}"))
    val asked = URLEncoder.encode("<i>\"'>", UTF_8)
    assert((page(s"/oap/?tables.sort=$asked&executors.page=$asked&x=$asked") \\ "i").isEmpty)
  }

  test("tables are sorted and paged one by one") {
    def tables(parameters: String) = rows(page(s"/oap/?$parameters"), "tables").map(_("Table"))
    val all = tables("tables.sort=Table")
    assert(all.size >= 3 && all === all.sorted)
    assert(tables("tables.sort=Table&tables.desc=true") === all.reverse)
    val paged = all.indices.flatMap(i =>
      tables(s"tables.sort=Table&tables.pageSize=1&tables.page=${i + 1}&scans.page=1"))
    assert(paged === all)
  }

  test("what there is not is said in its place") {
    for (wrong <- Seq("tables.sort=Nothing", "tables.pageSize=x", "tables.page=x")) {
      val shown = page(s"/oap/?$wrong")
      val alerts: NodeSeq = (shown \\ "div").filter(d => (d \ "@class").text.contains("alert"))
      assert(alerts.size === 1 && rows(shown, "tables").isEmpty, wrong)
      assert(rows(shown, "executors").size === 1)
    }
    assert(status("/oap/api/v1/nothing") === 404)
    assert(status("/oap/api/v1/scans?execution=x") === 400)
    assert(status("/oap/execution/?id=x") === 400)
    assert(status("/oap/metrics/nothing") === 404)
  }

  test("every metric of the dashboard is there") {
    val file = Iterator.iterate(Path.of("").toAbsolutePath)(_.getParent)
      .map(_.resolve("conf/oap-grafana.json")).find(Files.exists(_)).get
    val dashboard = new ObjectMapper().readTree(Files.readString(file))
    val queries = dashboard.findValuesAsText("expr").asScala
    val names = queries.flatMap("""oap_executor_\w+""".r.findAllIn(_))
    def listed(page: String): Set[String] =
      get(page).linesIterator.map(_.takeWhile(c => c.isLetterOrDigit || c == '_')).toSet
    val there = listed("/oap/metrics/prometheus")
    for (name <- names.toSet[String]) assert(there(name), name)
    // What is chosen above the panels holds for each of them.
    for (query <- queries) {
      val metrics = query.split("oap_executor_").drop(1)
      assert(metrics.nonEmpty, query)
      assert(metrics.forall(_.contains("""{application_name=~"$application"""")), query)
    }
  }
}

/** Without a UI there is no tab, and all else works. */
class NoUiSuite extends CacheSuite {
  test("a query runs, and its scan is listed") {
    assert(spark.sparkContext.uiWebUrl.isEmpty)
    spark.range(10).write.parquet(path("t"))
    assert(spark.read.parquet(path("t")).count() === 10)
    spark.read.parquet(path("t")).collect()
    eventually(timeout(1.minute)) {
      assert(!spark.sql("SELECT * FROM oap.system.scans").isEmpty)
    }
  }
}
