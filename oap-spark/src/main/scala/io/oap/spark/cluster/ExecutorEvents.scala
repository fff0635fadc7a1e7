package io.oap.spark.cluster

import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.oap.spark.directory.RemovedFiles
import io.oap.spark.internals.SparkInternals

/**
 * Spark's events of executors and their tasks, and of queries that end.
 *
 * @param joined called with an executor that has been added
 * @param lost called with the id of one that has been removed, and why
 * @param ended called when the application ends
 * @param load how busy the executors are
 * @param removedFiles is told of queries that have ended
 */
private final class ExecutorEvents(
    joined: SparkInternals.Executor => Unit,
    lost: (String, String) => Unit,
    ended: () => Unit,
    load: ExecutorOccupancy,
    removedFiles: RemovedFiles)
    extends SparkListener {
  override def onApplicationEnd(event: SparkListenerApplicationEnd): Unit =
    ended()

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    joined(SparkInternals.executor(event))

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
    lost(event.executorId, event.reason)

  override def onExecutorExcluded(event: SparkListenerExecutorExcluded): Unit =
    load.excluded(event.executorId)

  override def onExecutorUnexcluded(event: SparkListenerExecutorUnexcluded): Unit =
    load.included(event.executorId)

  override def onNodeExcluded(event: SparkListenerNodeExcluded): Unit =
    load.excluded(event.hostId)

  override def onNodeUnexcluded(event: SparkListenerNodeUnexcluded): Unit =
    load.included(event.hostId)

  override def onTaskStart(event: SparkListenerTaskStart): Unit =
    load.taskStarted(event.taskInfo.executorId, event.taskInfo.taskId, event.stageId)

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    load.taskEnded(event.taskInfo.executorId, event.taskInfo.taskId)

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit =
    load.stageEnded(event.stageInfo.stageId)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      Option(SparkInternals.execution(end)).foreach(removedFiles.executionEnded)
    case _ => ()
  }
}
