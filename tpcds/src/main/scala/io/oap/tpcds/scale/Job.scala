package io.oap.tpcds.scale

import scala.util.control.NonFatal

import io.oap.tpcds.Options

/** How the jobs of dev/tpcds end. */
object Job {

  /** Set by a person who wants to see where an error came from. */
  private val Traces = "OAP_TRACES"

  /** Runs a job and ends the process with its status; errors are one line, with status 1 or 2. */
  def exit(body: => Int): Unit = {
    val status =
      try body
      catch {
        case e: Options.Rejected => failed(e, 2)
        case NonFatal(e) => failed(e, 1)
      }
    sys.exit(status)
  }

  private def failed(e: Throwable, status: Int): Int = {
    val kind = if (e.isInstanceOf[Options.Rejected]) "" else s"${e.getClass.getSimpleName}: "
    val said = Option(e.getMessage).getOrElse("").linesIterator.nextOption().getOrElse("")
    System.err.println(s"error: $kind$said")
    if (sys.env.contains(Traces)) e.printStackTrace()
    else if (status == 1) System.err.println(s"($Traces=1 shows where it came from)")
    status
  }
}
