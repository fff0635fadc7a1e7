package io.oap.spark.internals;

import com.codahale.metrics.MetricRegistry;
import io.oap.common.ConfigEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkEnv;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.internal.config.ConfigBuilder;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.rdd.InputFileBlockHolder$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.ExecutorKilled$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerBlockUpdated;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.ExecutorInfo;
import org.apache.spark.scheduler.local.LocalSchedulerBackend;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.PruneFileSourcePartitions$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockUpdatedInfo;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.Utils;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What Spark has but opens only to its own packages; Java does not see that restriction. */
public final class SparkInternals {
  private SparkInternals() {}

  /** Spark's own rule that lists only the partitions a query can need. */
  public static Rule<LogicalPlan> prunePartitions() {
    return PruneFileSourcePartitions$.MODULE$;
  }

  /** Whether a value of a user-defined type lies anywhere in the rows of this schema. */
  public static boolean hasUserDefinedType(StructType schema) {
    return schema.existsRecursively(type -> type instanceof UserDefinedType);
  }

  /** A column name in backticks, so that a dot in it is part of the name. */
  public static String quoted(String name) {
    return QuotingUtils.quoteIdentifier(name);
  }

  /** A V2 predicate as the V1 filter with the same meaning, if there is one. */
  public static Option<Filter> toFilter(Predicate predicate) {
    return PredicateUtils.toV1(predicate);
  }

  /** A condition of a query as the filter with the same meaning, if there is one. */
  public static Option<Filter> toFilter(Expression condition) {
    return DataSourceStrategy$.MODULE$.translateFilter(condition, true);
  }

  /** A runtime filter whose values are there, as a V2 scan is told of it. */
  public static Option<Predicate> toPredicate(Expression filter) {
    return DataSourceV2Strategy$.MODULE$.translateRuntimeFilterV2(filter);
  }

  /** The configuration of a session. */
  public static SQLConf confOf(SparkSession session) {
    return session.sessionState().conf();
  }

  /**
   * The table itself, where a command that changes its rows reads it as a table of the command's.
   */
  public static Table changed(Table table) {
    return table instanceof RowLevelOperationTable change ? (Table) change.table() : table;
  }

  /** Tells {@code input_file_name()} and its like which part of which file this thread reads. */
  public static void beginFile(String path, long start, long length) {
    InputFileBlockHolder$.MODULE$.set(path, start, length);
  }

  /** Tells them that it reads none. */
  public static void endFile() {
    InputFileBlockHolder$.MODULE$.unset();
  }

  /** The context of this process, if there is one. */
  public static Option<SparkContext> activeContext() {
    return SparkContext$.MODULE$.getActive();
  }

  /** The configuration that the sessions of this context start from; a change to it counts. */
  public static SparkConf confOf(SparkContext context) {
    return context.conf();
  }

  /**
   * Makes a key one of Spark's own, unless it is: Spark then checks values where they are set,
   * refuses to set static keys in a session, and lists the key with {@code SET -v}.
   */
  public static void register(ConfigEntry<?> entry) {
    if (SQLConf$.MODULE$.containsConfigKey(entry.key())) {
      return;
    }
    ConfigBuilder builder =
        entry.scope() == ConfigEntry.Scope.STATIC
            ? SQLConf$.MODULE$.buildStaticConf(entry.key())
            : SQLConf$.MODULE$.buildConf(entry.key());
    builder
        .doc(entry.meaning())
        .version(entry.since())
        .stringConf()
        .checkValue(text -> entry.allows(text), "Expected " + entry.allowed() + ".")
        .createWithDefault(entry.defaultText());
  }

  /**
   * Checks a value as Spark does when a registered key is set.
   *
   * @throws IllegalArgumentException one of Spark's, with the condition INVALID_CONF_VALUE
   */
  public static void check(ConfigEntry<?> entry, String text) {
    new SQLConf().setConfString(entry.key(), text);
  }

  /**
   * The value of a key in a session that has not set it, if it is one of Spark's and has one there.
   * Unlike a list of all definitions it loads nothing, such as Hive's classes.
   */
  public static Option<String> defaultOf(String key) {
    return SQLConf$.MODULE$.containsConfigKey(key)
        ? Option.apply(new SQLConf().getConfString(key))
        : Option.empty();
  }

  /** Whether this process is the driver, which in local mode is the executor too. */
  public static boolean isDriver(SparkEnv environment) {
    return environment.executorId().equals(SparkContext$.MODULE$.DRIVER_IDENTIFIER());
  }

  /** Whether the application of this process has ended, and its RPC with it. */
  public static boolean isStopped(SparkEnv environment) {
    return environment.isStopped();
  }

  /**
   * An executor that runs tasks; a local one has the driver's id.
   *
   * @param runsQueries whether tasks of queries run there: those of another resource profile are
   *     for the stages that have asked for it
   */
  public record Executor(String id, String host, int cores, boolean runsQueries) {}

  /** The executor of which an event tells that it is there now. */
  public static Executor executor(SparkListenerExecutorAdded event) {
    ExecutorInfo info = event.executorInfo();
    return new Executor(
        event.executorId(),
        info.executorHost(),
        info.totalCores(),
        isDefault(info.resourceProfileId()));
  }

  private static boolean isDefault(int profile) {
    return profile == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
  }

  /**
   * The executors that run tasks now. Of a cluster, those that Spark's status knows: it learns of
   * them by events, later than the scheduler.
   */
  public static List<Executor> executors(SparkContext context) {
    String driver = SparkContext$.MODULE$.DRIVER_IDENTIFIER();
    if (context.schedulerBackend() instanceof LocalSchedulerBackend local) {
      String host = context.env().blockManager().blockManagerId().host();
      return List.of(new Executor(driver, host, local.totalCores(), true));
    }
    List<Executor> executors = new ArrayList<>();
    context
        .statusStore()
        .executorList(true)
        .foreach(
            executor -> {
              if (!executor.id().equals(driver)) {
                String host = hostOf(executor.hostPort());
                boolean runsQueries = isDefault(executor.resourceProfileId());
                executors.add(
                    new Executor(executor.id(), host, executor.totalCores(), runsQueries));
              }
              return null;
            });
    return executors;
  }

  /**
   * The ids of the executors that the scheduler of a cluster gives tasks to, whatever events of
   * them have been seen. Not for local masters.
   */
  public static List<String> executorIds(SparkContext context) {
    return CollectionConverters.asJava(context.getExecutorIds());
  }

  /**
   * How many tasks the scheduler has on each executor, whatever events of them have been seen. What
   * Spark's status tells of them it has from events. Nothing for schedulers that are not Spark's.
   */
  public static Map<String, Integer> runningTasks(SparkContext context) {
    Map<String, Integer> running = new HashMap<>();
    if (context.taskScheduler() instanceof TaskSchedulerImpl scheduler) {
      CollectionConverters.asJava(scheduler.runningTasksByExecutors())
          .forEach((executor, tasks) -> running.put(executor, (Integer) tasks));
    }
    return running;
  }

  /** The host of host:port, or of a host alone: an executor that is joining has no port yet. */
  public static String hostOf(String hostPort) {
    int colon = hostPort.lastIndexOf(':');
    // Colons within brackets are of an IPv6 address.
    return colon > hostPort.lastIndexOf(']') ? hostPort.substring(0, colon) : hostPort;
  }

  /** Whether an executor was removed because the driver wanted it, as dynamic allocation does. */
  public static boolean isOnPurpose(String reason) {
    return reason.equals(ExecutorKilled$.MODULE$.toString());
  }

  /** Whether an executor of a cluster is to leave, or has left, by Spark's decommissioning. */
  public static boolean isDecommissioned(SparkContext context, String executor) {
    return context.taskScheduler().getExecutorDecommissionState(executor).isDefined();
  }

  /** Whether executors can be decommissioned. */
  public static boolean mayDecommission(SparkConf conf) {
    return conf.getBoolean("spark.decommission.enabled", false);
  }

  /**
   * Has this executor stay for so long after it was decommissioned, unless somebody has said how
   * long. Spark has no other key for it than one of its tests: an executor without tasks ends a
   * second later.
   */
  public static void stayWhenDecommissioned(SparkEnv environment, long millis) {
    String key = "spark.test.executor.decommission.initial.sleep.millis";
    environment.conf().setIfMissing(key, Long.toString(Math.min(millis, Integer.MAX_VALUE)));
  }

  /** Whether Spark asks for executors and lets them go as there is work. */
  public static boolean isAllocatedDynamically(SparkConf conf) {
    return Utils.isDynamicAllocationEnabled(conf);
  }

  /**
   * Tells dynamic allocation whether an executor holds something that is worth keeping: by the
   * event of a cached block, of an RDD that no application has.
   */
  public static void keep(SparkContext context, String executor, boolean isWorthKeeping) {
    BlockManagerId holder = BlockManagerId.apply(executor, "localhost", 1, Option.empty());
    StorageLevel level = isWorthKeeping ? StorageLevel.MEMORY_ONLY() : StorageLevel.NONE();
    BlockId block = new RDDBlockId(-1, 0);
    post(context, new SparkListenerBlockUpdated(new BlockUpdatedInfo(holder, block, level, 0, 0)));
  }

  /** Adds a listener beside those of Spark's own UI. */
  public static void addStatusListener(SparkContext context, SparkListener listener) {
    context.listenerBus().addToStatusQueue(listener);
  }

  /** Posts an event to all listeners of an application, its event log among them. */
  public static void post(SparkContext context, SparkListenerEvent event) {
    context.listenerBus().post(event);
  }

  /**
   * Adds metrics to those that Spark's sinks show of this process.
   *
   * @param name what stands before the metrics' own names, after the application and the executor
   */
  public static void addMetrics(SparkEnv environment, String name, MetricRegistry metrics) {
    environment
        .metricsSystem()
        .registerSource(
            new Source() {
              @Override
              public String sourceName() {
                return name;
              }

              @Override
              public MetricRegistry metricRegistry() {
                return metrics;
              }
            });
  }

  /** Whether the value of a broadcast can be had, which nobody has destroyed. */
  public static boolean isValid(Broadcast<?> broadcast) {
    return broadcast.isValid();
  }

  /** Has Spark forget an RDD once it is garbage, as it does with those that are persisted. */
  public static void forgetWhenGarbage(RDD<?> rdd) {
    if (rdd.sparkContext().cleaner().isDefined()) {
      rdd.sparkContext().cleaner().get().registerRDDForCleanup(rdd);
    }
  }

  /** The execution that ended with this event; null when it failed or is not known. */
  public static QueryExecution execution(SparkListenerSQLExecutionEnd end) {
    return end.executionFailure().isEmpty() ? end.qe() : null;
  }
}
