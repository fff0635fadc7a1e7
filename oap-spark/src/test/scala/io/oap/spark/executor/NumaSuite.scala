package io.oap.spark.executor

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.functions.{col, udf}

import io.oap.spark.{CacheSuite, LogLines}

/** What an executor does to keep to a memory node, and what it tells of it. */
abstract class NumaSuite(bind: String, tasks: Boolean) extends CacheSuite {
  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.oap.numa.bind" -> bind,
    "spark.oap.numa.tasks" -> tasks.toString)

  /** Reads twice through the cache; gives the policies for memory that the threads of tasks had. */
  protected def policies(): Set[String] = {
    // Each row has the kernel walk the process's pages.
    spark.range(0, 20, 1, 2).selectExpr("xxhash64(id) AS hash").write.mode("overwrite")
      .parquet(path("numbers"))
    val policy = udf((_: Long) => NumaSuite.policyOfThread).asNondeterministic()
    (1 to 2).flatMap { _ =>
      spark.read.parquet(path("numbers")).select(policy(col("hash"))).distinct().collect()
    }.map(_.getString(0)).toSet
  }

  /** Nodes of the pool, the heap and the rest, and those that the executor keeps to. */
  protected def nodes: (Seq[Set[Int]], String) = {
    val row = spark.sql(
      "SELECT nodes, heap_nodes, rest_nodes, keeps_to_nodes FROM oap.system.executors").head()
    ((0 to 2).map(i => row.getMap[Int, Long](i).keySet.toSet), row.getString(3))
  }

  protected def assumeNodes(): Unit =
    assume(Files.exists(Path.of("/proc/self/numa_maps")), "this system does not tell of nodes")
}

object NumaSuite {

  /** What the kernel shows for memory without a policy of its own: that of the thread. */
  def policyOfThread: String =
    Files.readAllLines(
      Path.of("/proc/thread-self/numa_maps"),
      java.nio.charset.StandardCharsets.ISO_8859_1)
      .asScala.head.split(" ")(1)
}

class NumaNodeSuite extends NumaSuite("0", tasks = true) {

  test("the pool and threads of tasks keep to the node") {
    assumeNodes()
    var found = Set.empty[String]
    val lines = LogLines.ofOurs { found = policies() }
    assume(!lines.exists(_.contains("refuse")), "this system binds no memory")
    assert(found === Set("prefer:0"))
    assert(lines.exists(_.startsWith("This process keeps to memory node 0, tasks to its")))
    assert(lines.exists(_.contains("in anonymous memory, as far as it has room on node 0,")))
    assert(NumaSuite.policyOfThread === "default", "a thread that is no task's")
    val (where, keepsTo) = nodes
    assert(keepsTo === "0")
    assert(where.head === Set(0) && where.forall(_.contains(0)))
  }
}

class NumaPoolSuite extends NumaSuite("0", tasks = false) {

  test("the pool alone keeps to the node") {
    assumeNodes()
    assert(policies() === Set("default"))
    assert(nodes === (Seq(Set(0), Set(0), Set(0)), "0"))
  }
}

class NumaUnknownNodeSuite extends NumaSuite("0,63", tasks = true) {

  test("a node that is not there is said once, and done without") {
    assumeNodes()
    var found = Set.empty[String]
    val lines = LogLines.ofOurs { found = policies() }
    assert(found === Set("default"))
    assert(lines.filter(_.contains("numa")) === Seq(
      "spark.oap.numa.bind=0,63 is done without: node 63 does not exist"))
    val (where, keepsTo) = nodes
    assert(keepsTo === null)
    assert(where.forall(_.nonEmpty))
  }
}
