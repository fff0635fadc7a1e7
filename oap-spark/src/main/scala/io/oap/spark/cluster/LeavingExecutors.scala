package io.oap.spark.cluster

import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.spark.directory.Directory

/**
 * Notices executors that are decommissioned, of which Spark posts no event, and has the others copy
 * what these hold while they are there.
 *
 * @param isLeaving whether Spark has an executor leave
 * @param isReachable whether an executor can be asked
 * @param stays how long an executor is there at least after it was told to leave
 */
private final class LeavingExecutors(
    directory: Directory,
    handOvers: HandOvers,
    isLeaving: String => Boolean,
    isReachable: String => Boolean,
    stays: FiniteDuration)
    extends Logging {

  /** Looks which executors leave that were not known to; called some times in a second. */
  def check(): Unit =
    try {
      val leaving = directory.executorIds.filter(isLeaving).filter(directory.executorLeaves)
      for (id <- leaving)
        handOvers.begin(id, s"Executor $id leaves", Some(stays))(
          new HandOverPlan(directory, isReachable).of(id))
    } catch {
      case NonFatal(e) => logDebug("Which executors leave is not known", e)
    }
}
