package io.oap.spark.ui

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import jakarta.servlet.http.{HttpServlet, HttpServletRequest}
import org.apache.spark.SparkContext

import io.oap.spark.internals.SparkUi
import io.oap.spark.status.CacheSnapshot

/**
 * The tab "Column Cache" of Spark's UI and the REST below it.
 *
 * @param snapshot what is known when it is asked for
 * @param more what else is served, by path
 */
private[spark] final class CacheTab(
    snapshot: () => CacheSnapshot,
    more: Map[String, HttpServlet])
    extends SparkUi.Content {
  override def prefix(): String = CacheTab.Prefix

  override def name(): String = "Column Cache"

  override def pages(): JavaMap[String, SparkUi.Page] = JavaMap.of(
    "",
    new CachePage(snapshot),
    "execution",
    new ExecutionScansPage(snapshot))

  override def servlets(): JavaMap[String, HttpServlet] =
    (more + ("api/v1" -> new CacheApi(snapshot))).asJava
}

private[spark] object CacheTab {
  val Prefix = "oap"

  /** Makes the tab of a running application. */
  def of(context: SparkContext, snapshot: () => CacheSnapshot): CacheTab = new CacheTab(
    snapshot,
    Map("metrics" -> new PrometheusPage(context.applicationId, context.appName, snapshot)))

  /** A whole number that the request has as a parameter. */
  def number(request: HttpServletRequest, name: String): Option[Long] =
    Option(request.getParameter(name)).map { text =>
      text.toLongOption.getOrElse(throw new IllegalArgumentException(s"$name: expected a number"))
    }
}
