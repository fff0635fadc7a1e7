package io.oap.spark.ui

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import jakarta.servlet.http.{HttpServlet, HttpServletRequest, HttpServletResponse}

import io.oap.spark.status.{Advice, CacheSnapshot}

/**
 * What the tab shows, as JSON: `summary`, `executors`, `advice`, `samples`, `tables`, `columns` and
 * `scans`, of which `?execution=` gives those of one SQL execution. Bytes and milliseconds are
 * numbers.
 */
private final class CacheApi(snapshot: () => CacheSnapshot) extends HttpServlet {
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
      case Some("advice") => Some(Advice.of(now).map(json).asJava)
      case Some("samples") => Some(now.samples)
      case Some("tables") => Some(now.tables)
      case Some("columns") => Some(now.columns)
      case Some("scans") =>
        val wanted = CacheTab.number(request, "execution")
        Some(now.scans.asScala.filter(scan => wanted.forall(_ == scan.execution)).asJava)
      case _ => None
    }
  }

  /** A row of `oap.system.advice`. */
  private def json(advice: Advice): JavaMap[String, Any] = {
    val fields = new LinkedHashMap[String, Any]
    fields.put("executor", advice.executor)
    fields.put("capacityBytes", advice.capacity)
    fields.put("changeBytes", advice.change)
    fields.put("hitRatio", advice.hitRatio.map(Double.box).orNull)
    fields.put("hitRatioChange", advice.hitRatioChange.map(Double.box).orNull)
    fields.put("askedBytes", advice.asked)
    fields.put("advice", advice.text)
    fields
  }

  // As the other pages of Spark's UI.
  override def doTrace(request: HttpServletRequest, response: HttpServletResponse): Unit =
    response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED)
}
