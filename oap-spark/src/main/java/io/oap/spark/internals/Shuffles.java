package io.oap.spark.internals;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.scheduler.MapStatus;
import scala.Option;

/** What Spark's driver knows of the files of shuffles. */
public final class Shuffles {
  private Shuffles() {}

  /**
   * Returns the ids of the tasks that have written a shuffle; empty while files of one are missing.
   * What is written again is written by another task.
   */
  public static Optional<List<Long>> writers(ShuffleDependency<?, ?, ?> shuffle) {
    SparkEnv environment = SparkEnv.get();
    if (environment == null
        || !(environment.mapOutputTracker() instanceof MapOutputTrackerMaster tracker)) {
      return Optional.empty();
    }
    Option<Optional<List<Long>>> writers =
        tracker
            .shuffleStatuses()
            .get(shuffle.shuffleId())
            .map(
                status ->
                    status.withMapStatuses(
                        outputs -> {
                          List<Long> tasks = new ArrayList<>(outputs.length);
                          for (MapStatus output : outputs) {
                            if (output == null) {
                              return Optional.empty();
                            }
                            tasks.add(output.mapId());
                          }
                          return Optional.of(tasks);
                        }));
    return writers.getOrElse(Optional::empty);
  }

  /** Whether tasks that run again write the same rows, in whatever order. */
  public static boolean isRepeatable(ShuffleDependency<?, ?, ?> shuffle) {
    return shuffle.rdd().outputDeterministicLevel() != DeterministicLevel.INDETERMINATE();
  }
}
