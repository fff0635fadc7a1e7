package io.oap.tpcds.cluster

import org.apache.spark.SparkContext

/** Another job of the application, whose tasks take all of one executor's cores and do nothing. */
final class BusyExecutor(context: SparkContext, executor: String, host: String, cores: Int)
    extends AutoCloseable {
  private val group = s"busy executor $executor"

  private val job = {
    // Local properties go with the jobs that this thread starts.
    context.setJobGroup(group, group, interruptOnCancel = true)
    val tasks = (0 until cores).map(i => i -> Seq(s"executor_${host}_$executor"))
    try context.makeRDD(tasks).foreachAsync(_ => BusyExecutor.waitForInterrupt())
    finally context.clearJobGroup()
  }

  Application.waitFor(s"$cores tasks on executor $executor") {
    context.statusTracker.getExecutorInfos.exists { info =>
      info.host() == host && info.numRunningTasks() >= cores
    }
  }

  override def close(): Unit = {
    context.cancelJobGroup(group)
    Application.waitFor(s"end of the job on executor $executor")(job.isCompleted)
  }
}

private object BusyExecutor {
  def waitForInterrupt(): Unit = Thread.sleep(Long.MaxValue)
}
