package io.oap.common;

import static io.oap.common.ConfigEntries.bool;
import static io.oap.common.ConfigEntries.choice;
import static io.oap.common.ConfigEntries.duration;
import static io.oap.common.ConfigEntries.parsed;
import static io.oap.common.ConfigEntries.shares;
import static io.oap.common.ConfigEntries.size;
import static io.oap.common.ConfigEntries.tables;
import static io.oap.common.ConfigEntries.words;

import io.oap.common.ConfigEntry.Scope;
import java.util.List;
import java.util.Optional;

/** Every configuration key of OAP. */
public final class OapConfig {

  /** All keys start with this. */
  public static final String PREFIX = "spark.oap.";

  public static final ConfigEntry<Boolean> CACHE_ENABLED =
      bool(
          "spark.oap.cache.enabled",
          true,
          Scope.SESSION,
          "Whether queries of this session are planned to read files through the column cache.");

  public static final ConfigEntry<List<String>> CACHE_FORMATS =
      words(
          "spark.oap.cache.formats",
          List.of("parquet", "iceberg", "delta", "orc"),
          "Which kinds of tables are read through the column cache. parquet and orc: tables that Spark "
              + "reads as such. iceberg: tables of Iceberg, their data and delete files in Parquet. "
              + "delta: tables of Delta.");

  public static final ConfigEntry<Boolean> CACHE_FOLLOW_TABLES =
      bool(
          "spark.oap.cache.followTables",
          true,
          Scope.SESSION,
          "Whether the cache follows tables of Iceberg and Delta from snapshot to snapshot, as queries "
              + "of this session find them: chunks of files that only former snapshots have leave a "
              + "full pool first and are pinned no more, and new files of pinned tables are loaded "
              + "in the background.");

  public static final ConfigEntry<List<String>> CACHE_TABLES_INCLUDE =
      tables(
          "spark.oap.cache.tables.include",
          "Tables that are read through the column cache: all, when this is empty; else these and "
              + "those whose property oap.cache is on. A name is that of a table of a catalog, with "
              + "or without its database; what has a slash in it is the path of a table or of a "
              + "folder above it. * stands for any characters, ? for one.");

  public static final ConfigEntry<List<String>> CACHE_TABLES_EXCLUDE =
      tables(
          "spark.oap.cache.tables.exclude",
          "Tables that are not read through the column cache, also where they are included.");

  public static final ConfigEntry<List<TableShare>> CACHE_TABLES_QUOTAS =
      shares(
          "spark.oap.cache.tables.quotas",
          PoolShare.ALLOWED,
          "How much of each executor's pool a table may have at most: so many percent of it, or "
              + "bytes. Names and patterns are those of spark.oap.cache.tables.include; each table "
              + "has a quota of its own. All that lies under a path shares one; a path with "
              + "patterns is the topmost folder that it stands for. The first that fits decides, "
              + "and before the table's property oap.cache.quota.",
          list -> true);

  public static final ConfigEntry<List<TableShare>> CACHE_TABLES_MINIMUMS =
      shares(
          "spark.oap.cache.tables.minimums",
          PoolShare.ALLOWED + ", not more than 100% together",
          "How much of what was read of a table stays in each executor's pool, whatever is read of "
              + "others; what a table does not use, others may. Written as "
              + "spark.oap.cache.tables.quotas; the property is oap.cache.minimum. At most four "
              + "fifths of a pool stay for all tables, pinned ones included.",
          list -> list.stream().mapToDouble(entry -> entry.share().percent()).sum() <= 100);

  public static final ConfigEntry<String> CACHE_REPRESENTATION =
      choice(
          "spark.oap.cache.representation",
          List.of("auto", "encoded", "vector"),
          Scope.SESSION,
          "How chunks are kept. encoded: as they stand in the file. vector: flat columns are turned "
              + "into vector chunks when they are read first, which need no decoding later and are "
              + "filtered where they lie. auto: they are turned when they are found in the pool, so "
              + "that a column that is read only once costs nothing.");

  public static final ConfigEntry<Boolean> CACHE_DATAFRAMES =
      bool(
          "spark.oap.cache.dataframes",
          true,
          Scope.SESSION,
          "Whether CACHE TABLE, cache() and persist() of this session keep columns as vector "
              + "chunks in the pool. They count to the four fifths of a pool that may stay; what has "
              + "no room there is kept on the heap.");

  public static final ConfigEntry<String> PLACEMENT =
      choice(
          "spark.oap.placement",
          List.of("auto", "residency", "hash", "off"),
          Scope.SESSION,
          "Where tasks of a scan are to run. auto: on the executor whose pool holds most of what they "
              + "read; what no pool holds is divided by hashing, so that it comes to the same "
              + "executor next time. residency and hash: only the first, or only the second. off: "
              + "Spark chooses, as it does without OAP.");

  public static final ConfigEntry<Long> CACHE_LOAD_TIMEOUT =
      duration(
          "spark.oap.cache.loadTimeout",
          "30s",
          "How long a task waits for another task that is loading the same column chunk, before it "
              + "reads the chunk from the file itself.");

  public static final ConfigEntry<Long> CACHE_HAND_OVER =
      duration(
          "spark.oap.cache.handOver",
          "5s",
          "With spark.decommission.enabled: how long an executor that is decommissioned stays for "
              + "others to copy what its pool holds, first what was asked for most. 0s: it stays no "
              + "longer than Spark has it stay, and nothing is copied.");

  public static final ConfigEntry<Optional<PoolShare>> CACHE_REPLICAS =
      parsed(
          "spark.oap.cache.replicas",
          "percent or bytes",
          "",
          PoolShare.ALLOWED + ", or nothing",
          "How much of its pool each executor keeps second copies in, of what is asked for most in "
              + "the pools of others, for when one of them dies without notice. A copy takes free "
              + "room, or the place of what is asked for less often. Nothing: no copies are made.",
          text -> text.isBlank() ? Optional.empty() : Optional.of(PoolShare.parse(text)));

  public static final ConfigEntry<Long> CACHE_KEEP_EXECUTORS =
      duration(
          "spark.oap.cache.keepExecutors",
          "0s",
          "With spark.dynamicAllocation.enabled: how long an executor stays after its pool was used, "
              + "if tasks have had more bytes from the pool than from files. It stays no longer than "
              + "spark.dynamicAllocation.cachedExecutorIdleTimeout says. 0s: pools do not count.");

  public static final ConfigEntry<Long> CACHE_FOOTER_SIZE =
      size(
          "spark.oap.cache.footerSize",
          "64m",
          1L << 20,
          "Heap memory for parsed Parquet footers, page indexes and bloom filters, and for what is known "
              + "of the stripes of ORC files, per executor. An ORC file that would take more than a "
              + "quarter of it is read around the cache.");

  public static final ConfigEntry<Boolean> BUILDSIDES_ENABLED =
      bool(
          "spark.oap.buildsides.enabled",
          true,
          Scope.SESSION,
          "Whether queries of this session keep what Spark broadcasts or shuffles of cached tables "
              + "for the next query, and take what others have kept.");

  public static final ConfigEntry<Long> BUILDSIDES_MAX_SIZE =
      size(
          "spark.oap.buildsides.maxSize",
          "256m",
          0,
          "How much the broadcast sides that are kept may have together, for all sessions. They lie "
              + "in the storage memory of the driver and of each executor that has used them, which "
              + "puts them on disk when it is short. 0: none is kept.");

  public static final ConfigEntry<Long> BUILDSIDES_MAX_SHUFFLE_SIZE =
      size(
          "spark.oap.buildsides.maxShuffleSize",
          "1g",
          0,
          "How much the shuffles of tables that are kept may have together, for all sessions, on the "
              + "disks of all executors; each counts 16m beside its files. One larger than an eighth is "
              + "not kept. Up to 16m, or with dynamic allocation and no shuffle service, none is.");

  /** In bytes. */
  public static final long LEAST_POOL_SIZE = 1L << 20;

  public static final ConfigEntry<Long> POOL_SIZE =
      size(
          "spark.oap.pool.size",
          "1g",
          LEAST_POOL_SIZE,
          "Capacity of the column chunk pool, per executor. Off-heap: leave room for it in the "
              + "executor's memory overhead.");

  public static final ConfigEntry<String> POOL_PATH =
      parsed(
          "spark.oap.pool.path",
          "list of paths",
          "",
          "at most 16 directories or devices, separated by commas, or nothing",
          "Directories in which each executor keeps its pool, one unnamed file in each, of equal "
              + "size: mounts of tmpfs, of a disk, or of a DAX file system on persistent memory. "
              + "For spark.oap.pool.medium=devdax, character devices such as /dev/dax0.0. Without "
              + "it the pool is anonymous memory.",
          text -> text);

  public static final ConfigEntry<String> POOL_MEDIUM =
      choice(
          "spark.oap.pool.medium",
          List.of("auto", "dram", "node", "file", "fsdax", "devdax"),
          Scope.STATIC,
          "Where the pool lies. dram: anonymous memory, in huge pages where the system has them. "
              + "node: the same on the memory nodes of spark.oap.pool.nodes. file: in the "
              + "directories of spark.oap.pool.path. fsdax: the same, and an error if a directory "
              + "is not on a DAX file system. devdax: on the devices of spark.oap.pool.path. auto: "
              + "file if there is a path, else dram.");

  public static final ConfigEntry<String> POOL_NODES =
      parsed(
          "spark.oap.pool.nodes",
          "list of numbers",
          "",
          "node numbers below 64, separated by commas, perhaps after interleave:, or nothing",
          "Memory nodes for spark.oap.pool.medium=node: CXL or high-bandwidth memory, or persistent "
              + "memory as system-ram. An equal part of the pool lies on each, or, after interleave:, "
              + "every page on the next. Nothing: the node that the executor starts on.",
          ConfigText::parseNodes);

  public static final ConfigEntry<Boolean> POOL_PREFAULT =
      bool(
          "spark.oap.pool.prefault",
          false,
          Scope.STATIC,
          "Whether a thread of low priority touches all memory of the pool in the background, for "
              + "spark.oap.pool.medium=dram or node, so that no task waits for the system to find "
              + "and clear it. Otherwise memory is taken as it is first used.");

  public static final ConfigEntry<Boolean> POOL_ERASE =
      bool(
          "spark.oap.pool.erase",
          false,
          Scope.STATIC,
          "Whether the devices of spark.oap.pool.medium=devdax are overwritten with zeros when the "
              + "pool is opened and when it is closed, so that no data of users stays on them. A "
              + "device keeps what was written to it, and shows it to whoever may open it. Opening "
              + "and closing then take as long as writing eight times the pool's size, or the whole "
              + "device. What an executor leaves that is killed is overwritten when the next one "
              + "opens the device.");

  public static final ConfigEntry<Boolean> POOL_REOPEN =
      bool(
          "spark.oap.pool.reopen",
          false,
          Scope.STATIC,
          "Whether a pool in files (spark.oap.pool.path) outlives its executor, however that ends, "
              + "and the next executor of the same user on the host goes on with it: with the same "
              + "size, policy, number of paths and version of OAP. Each chunk is checked at its "
              + "first use. Bytes of users' files stay on the host, for this user to read.");

  public static final ConfigEntry<Long> POOL_REOPEN_WITHIN =
      duration(
          "spark.oap.pool.reopenWithin",
          "24h",
          "With spark.oap.pool.reopen: a pool that no executor has used for so long is removed by "
              + "the next executor that opens one on its path.");

  public static final ConfigEntry<Boolean> POOL_SHARED =
      bool(
          "spark.oap.pool.shared",
          false,
          Scope.STATIC,
          "Whether all executors of a user on a host, of several applications too, have one pool in "
              + "spark.oap.pool.path (/dev/shm for memory), which is kept as with "
              + "spark.oap.pool.reopen. Those that share it, 16 at most, have the same size (that of "
              + "the one pool), paths and version of OAP. For the policy s3fifo; cannot be resized.");

  public static final ConfigEntry<PoolTiers> POOL_TIERS =
      parsed(
          "spark.oap.pool.tiers",
          "list of tiers",
          "",
          PoolTiers.ALLOWED,
          "What the pool consists of: memory (dram, its size, in place of spark.oap.pool.size), and "
              + "a file in a folder on a local disk, NVMe above all. What leaves memory and is "
              + "asked for again and again goes to the file, and comes back from there rather than "
              + "from the table's storage. The file has no name and goes with the executor. Each "
              + "executor of a host has its own. Without dram the first tier is what the other keys "
              + "of the pool say.",
          PoolTiers::parse);

  public static final ConfigEntry<String> POOL_POLICY =
      choice(
          "spark.oap.pool.policy",
          List.of("s3fifo", "generations", "lru"),
          Scope.STATIC,
          "Which chunks leave when the pool is full. s3fifo withstands scans and loops; the others "
              + "are there for comparison.");

  public static final ConfigEntry<String> NUMA_BIND =
      parsed(
          "spark.oap.numa.bind",
          "string",
          "off",
          "off, auto, or node numbers below 64, separated by commas",
          "Which memory nodes (NUMA) of its host an executor keeps to: a pool with "
              + "spark.oap.pool.medium=dram, as far as there is room, and its tasks "
              + "(spark.oap.numa.tasks). auto: the one that the fewest executors of the host have "
              + "taken. What the system refuses is said in the log, once, and done without.",
          ConfigText::parseBinding);

  public static final ConfigEntry<Boolean> NUMA_TASKS =
      bool(
          "spark.oap.numa.tasks",
          true,
          Scope.STATIC,
          "With spark.oap.numa.bind: whether threads of tasks run on the processors of these nodes "
              + "only, from when they first use the cache, so that their memory lies there.");

  /** Every entry, in the order of the reference page. */
  public static final List<ConfigEntry<?>> ALL =
      List.of(
          CACHE_ENABLED,
          CACHE_FORMATS,
          CACHE_FOLLOW_TABLES,
          CACHE_TABLES_INCLUDE,
          CACHE_TABLES_EXCLUDE,
          CACHE_TABLES_QUOTAS,
          CACHE_TABLES_MINIMUMS,
          CACHE_REPRESENTATION,
          CACHE_DATAFRAMES,
          PLACEMENT,
          CACHE_LOAD_TIMEOUT,
          CACHE_HAND_OVER,
          CACHE_REPLICAS,
          CACHE_KEEP_EXECUTORS,
          CACHE_FOOTER_SIZE,
          BUILDSIDES_ENABLED,
          BUILDSIDES_MAX_SIZE,
          BUILDSIDES_MAX_SHUFFLE_SIZE,
          POOL_SIZE,
          POOL_PATH,
          POOL_MEDIUM,
          POOL_NODES,
          POOL_PREFAULT,
          POOL_ERASE,
          POOL_REOPEN,
          POOL_REOPEN_WITHIN,
          POOL_SHARED,
          POOL_TIERS,
          POOL_POLICY,
          NUMA_BIND,
          NUMA_TASKS);

  private OapConfig() {}
}
