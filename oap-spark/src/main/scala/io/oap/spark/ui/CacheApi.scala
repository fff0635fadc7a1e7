package io.oap.spark.ui

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import jakarta.servlet.http.{HttpServlet, HttpServletRequest, HttpServletResponse}

import io.oap.spark.status.CacheSnapshot

/**
 * What the tab shows, as JSON: `summary`, `executors`, `samples`, `tables`, `columns` and `scans`,
 * of which `?execution=` gives those of one SQL execution. Bytes and milliseconds are numbers.
 */
private[ui] final class CacheApi(snapshot: () => CacheSnapshot) extends HttpServlet {
  private val mapper = new ObjectMapper

  override def doGet(request: HttpServletRequest, response: HttpServletResponse): Unit =
    try {
      answer(request) match {
        case Some(content) =>
          response.setContentType("application/json;charset=utf-8")
          response.getWriter.print(mapper.writeValueAsString(content))
        case None => response.sendError(HttpServletResponse.SC_NOT_FOUND)
      }
    } catch {
      case e: IllegalArgumentException =>
        response.sendError(HttpServletResponse.SC_BAD_REQUEST, e.getMessage)
    }

  private def answer(request: HttpServletRequest): Option[AnyRef] = {
    val now = snapshot()
    Option(request.getPathInfo).map(_.stripPrefix("/")) match {
      case Some("summary") => Some(now.totals)
      case Some("executors") => Some(now.executors)
      case Some("samples") => Some(now.samples)
      case Some("tables") => Some(now.tables)
      case Some("columns") => Some(now.columns)
      case Some("scans") =>
        val wanted = CacheTab.number(request, "execution")
        Some(now.scans.asScala.filter(scan => wanted.forall(_ == scan.execution)).asJava)
      case _ => None
    }
  }

  // As the other pages of Spark's UI.
  override def doTrace(request: HttpServletRequest, response: HttpServletResponse): Unit =
    response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED)
}
