package io.oap.spark.ui

import java.net.{HttpURLConnection, URI}

import jakarta.servlet.{Filter, FilterChain, ServletRequest, ServletResponse}
import jakarta.servlet.http.{HttpServletRequest, HttpServletRequestWrapper}

import io.oap.spark.CacheSuite

/** With Spark's access lists on, all below the tab asks the right to view, as Spark's pages do. */
class UiAccessSuite extends CacheSuite {

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0",
    "spark.ui.filters" -> classOf[NamedUser].getName,
    "spark.acls.enable" -> "true",
    "spark.modify.acls" -> "mia",
    "spark.ui.view.acls" -> "vic"
  )

  private def status(address: String, user: String): Int = {
    val connection = new URI(spark.sparkContext.uiWebUrl.get + address).toURL.openConnection()
      .asInstanceOf[HttpURLConnection]
    connection.setRequestProperty(NamedUser.Header, user)
    connection.getResponseCode
  }

  test("pages, REST and metrics are refused to whom Spark's pages are refused") {
    spark.range(10).write.parquet(path("t"))
    spark.read.parquet(path("t")).collect()
    for (address <- Seq(
        "/jobs/",
        "/oap/",
        "/oap/execution/?id=0",
        "/oap/api/v1/summary",
        "/oap/metrics/prometheus")) {
      for (user <- Seq("eve", "mia")) assert(status(address, user) === 403, address)
      assert(status(address, "vic") === 200, address)
    }
  }
}

/** Takes the user from a header, as a filter that authenticates would find him out. */
class NamedUser extends Filter {
  override def doFilter(
      request: ServletRequest,
      response: ServletResponse,
      chain: FilterChain): Unit = {
    val asked = request.asInstanceOf[HttpServletRequest]
    chain.doFilter(
      new HttpServletRequestWrapper(asked) {
        override def getRemoteUser: String = asked.getHeader(NamedUser.Header)
      },
      response)
  }
}

object NamedUser {
  val Header = "X-Test-User"
}
