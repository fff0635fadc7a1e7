package io.oap.spark.rpc

/**
 * Reports again and again from a daemon thread of its own, until it is stopped.
 *
 * @param report called with the last pause in milliseconds, the first time with the first one, and
 *     returns the next; throws nothing but InterruptedException, which ends the thread
 */
private[spark] final class ReportingThread(name: String, firstPause: Long, report: Long => Long) {
  private val thread = new Thread(() => run(), name)
  @volatile private var isStopped = false

  def start(): Unit = {
    thread.setDaemon(true)
    thread.start()
  }

  def stop(): Unit = {
    isStopped = true
    thread.interrupt()
  }

  private def run(): Unit = {
    var pause = firstPause
    try {
      while (!isStopped) {
        pause = report(pause)
        Thread.sleep(pause)
      }
    } catch {
      case _: InterruptedException => ()
    }
  }
}
