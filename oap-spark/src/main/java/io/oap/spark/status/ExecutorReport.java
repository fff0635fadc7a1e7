package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.io.Serializable;

/**
 * What the column cache of one process is and has done.
 *
 * @param executor Spark's id of the executor
 * @param host host it runs on
 * @param state one of the words below
 * @param why the reason for that state; null where there is none
 * @param pool null while there is none
 * @param readers what the readers of the process have counted since it started
 * @param memory how its memory lies on nodes, as it was when somebody last asked; null before that
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ExecutorReport(
    String executor,
    String host,
    String state,
    String why,
    PoolReport pool,
    Figures readers,
    MemoryReport memory)
    implements Serializable {
  public static final String OPEN = "open";
  public static final String UNUSED = "not used yet";
  public static final String OFF = "off";
  public static final String UNREACHED = "not reached";

  /** Makes the report of an executor of which nothing is known but that it is there. */
  public static ExecutorReport without(String executor, String host, String state, String why) {
    return new ExecutorReport(executor, host, state, why, null, Figures.NONE, null);
  }

  /** Names its pool: executors with one name have one pool together. Others have their own id. */
  public String poolName() {
    return isPoolShared() ? pool.name() : executor;
  }

  /** Whether other executors may have its pool, too. */
  public boolean isPoolShared() {
    return pool != null && pool.name() != null;
  }

  /** Gives those of the pool and of the readers. */
  public Figures figures() {
    return pool == null ? readers : pool.figures().plus(readers);
  }

  /** Makes the report of an executor that does not answer, with the figures it told last. */
  public ExecutorReport unreached(String why) {
    return new ExecutorReport(executor, host, UNREACHED, why, pool, readers, memory);
  }
}
