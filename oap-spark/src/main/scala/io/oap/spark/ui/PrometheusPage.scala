package io.oap.spark.ui

import scala.jdk.CollectionConverters._

import jakarta.servlet.http.{HttpServlet, HttpServletRequest, HttpServletResponse}

import io.oap.cache.stats.Figure
import io.oap.spark.status.{CacheSnapshot, ExecutorReport}

/**
 * The figures of each executor for Prometheus, at `prometheus`, with the executor and its pool as
 * labels. Executors that have one pool together have its name, and each tells its capacity, used
 * bytes and chunks; all else is the executor's own. They stand beside Spark's own page of executors,
 * to which nothing can be added; in Spark's metrics system the executor is part of a metric's name.
 */
private final class PrometheusPage(
    applicationId: String,
    applicationName: String,
    snapshot: () => CacheSnapshot)
    extends HttpServlet {

  override def doGet(request: HttpServletRequest, response: HttpServletResponse): Unit =
    if (request.getPathInfo == "/prometheus") {
      response.setContentType("text/plain;version=0.0.4;charset=utf-8")
      response.getWriter.print(text)
    } else {
      response.sendError(HttpServletResponse.SC_NOT_FOUND)
    }

  // As the other pages of Spark's UI.
  override def doTrace(request: HttpServletRequest, response: HttpServletResponse): Unit =
    response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED)

  private def text: String = {
    val executors = snapshot().executors.asScala.toSeq.filter(_.isLive).map { status =>
      val labels = Seq(
        "application_id" -> applicationId,
        "application_name" -> applicationName,
        "executor_id" -> status.report.executor,
        "host" -> status.report.host,
        "pool" -> poolOf(status.report)
      )
      labels.map { case (name, value) => s"""$name="${escaped(value)}"""" }.mkString(
        "{",
        ",",
        "}") ->
        status.report.figures
    }
    Figure.values.toSeq.flatMap { figure =>
      val name = figure.prometheus
      Seq(
        s"# HELP $name ${figure.meaning}",
        s"# TYPE $name ${if (figure.isCounter) "counter" else "gauge"}") ++
        executors.map { case (labels, figures) =>
          s"$name$labels ${figure.shown(figures.get(figure))}"
        }
    }.mkString("", "\n", "\n")
  }

  /** A shared pool may be that of several applications. */
  private def poolOf(report: ExecutorReport): String =
    if (report.isPoolShared) report.poolName else s"$applicationId/${report.executor}"

  private def escaped(value: String): String =
    value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")
}
