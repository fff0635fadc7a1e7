package io.oap.spark.rpc

import java.util.concurrent.{Executor, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import com.google.common.util.concurrent.ThreadFactoryBuilder

/** Work beside that of queries, on threads that are there while there is something to do. */
private[spark] object Background {

  /**
   * One thread for work that nobody waits for, and that may be left undone.
   *
   * @param mostWaiting what comes when so many tasks wait already is let go
   */
  def thread(name: String, mostWaiting: Int): Executor = {
    val one = threads(name, 1, mostWaiting)
    one.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy)
    one
  }

  /**
   * Threads for tasks of which some are done at a time.
   *
   * @param name in which `%d` stands for the number of the thread
   * @param most so many are done at a time
   * @param mostWaiting what comes when so many tasks wait already is rejected
   */
  def threads(name: String, most: Int, mostWaiting: Int = Int.MaxValue): ThreadPoolExecutor = {
    val pool = new ThreadPoolExecutor(
      most,
      most,
      10,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable](mostWaiting),
      new ThreadFactoryBuilder().setDaemon(true).setNameFormat(name).build())
    pool.allowCoreThreadTimeOut(true)
    pool
  }
}
