package io.oap.spark.rpc

import java.util.concurrent.{ArrayBlockingQueue, Executor, ThreadPoolExecutor, TimeUnit}

import com.google.common.util.concurrent.ThreadFactoryBuilder

/** Work of the driver that nobody waits for, and that may be left undone. */
private[spark] object Background {

  /**
   * One thread that is there while there is something to do.
   *
   * @param mostWaiting what comes when so many tasks wait already is let go
   */
  def thread(name: String, mostWaiting: Int): Executor = new ThreadPoolExecutor(
    0,
    1,
    10,
    TimeUnit.SECONDS,
    new ArrayBlockingQueue[Runnable](mostWaiting),
    new ThreadFactoryBuilder().setDaemon(true).setNameFormat(name).build(),
    new ThreadPoolExecutor.DiscardPolicy
  )
}
