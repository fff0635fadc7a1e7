package io.oap.spark.scan

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.FileIdentity
import io.oap.spark.directory.Directory
import io.oap.spark.executor.{ReleaseRowGroups, ReportAnew}
import io.oap.spark.placement.PlacementRules
import io.oap.spark.read.PlacedPartition
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta}

/** How files become tasks: nothing is lost or read twice, and tasks go where the chunks are. */
class PartitionPlanSuite extends AnyFunSuite {
  private val Length = 1000L

  private def split(file: Int, start: Long, length: Long, hosts: String*): PartitionedFile =
    PartitionedFile(
      InternalRow.empty,
      SparkPath.fromUrlString(s"file:/data/f$file"),
      start,
      length,
      hosts.toArray,
      modificationTime = 5,
      fileSize = Length)

  private def key(file: Int) = FileIdentity.placementKey(s"file:/data/f$file", Length, 5)

  private var directory: Directory = _
  private var capacity = 10000L
  private val released = ArrayBuffer.empty[(String, Seq[Long], Seq[Long])]
  private val asked = ArrayBuffer.empty[String]

  /** A new cluster of these executors. */
  private def join(executors: String*): Unit = {
    directory = new Directory(1L << 20)
    executors.foreach { id =>
      directory.executorJoined(id, s"host$id", 1)
      report(id)
    }
  }

  /** The executor holds columns of the two row groups of a file, [4, 500) and [500, 1000). */
  private def report(executor: String, files: FileDelta*): Unit = {
    val used = files.map(file => java.util.BitSet.valueOf(file.added).cardinality * 250L).sum
    assert(directory.accept(ResidencyDelta(executor, 0, 1, files, capacity, used)).isAccepted)
  }

  private def holds(file: Int, chunks: Int*): FileDelta = {
    val bits = new java.util.BitSet
    chunks.foreach(bits.set)
    val layout = FileLayout(Array("a", "b"), Array(4, 500), Array(200, 296, 200, 300))
    FileDelta(key(file), Some(layout), bits.toLongArray, Array.empty)
  }

  private def plan(
      splits: Seq[PartitionedFile],
      wait: String => Double = _ => 0,
      maxSplitBytes: Long = 500,
      openCostBytes: Long = 0): Seq[PlacedPartition] = {
    val partitions = splits.zipWithIndex.map { case (s, i) => FilePartition(i, Array(s)) }
    released.clear()
    asked.clear()
    new PartitionPlan(
      directory,
      wait,
      {
        case (executor, ReleaseRowGroups(files, positions)) =>
          released += ((executor, files.toSeq, positions.toSeq))
        case (executor, request) => assert(request === ReportAnew); asked += executor
      },
      Seq("a"),
      true,
      PlacementRules(),
      maxSplitBytes,
      openCostBytes
    )
      .of(partitions)
      .toSeq
      .map(_.asInstanceOf[PlacedPartition])
  }

  private def ranges(partitions: Seq[PlacedPartition]): Set[(String, Long, Long)] =
    partitions.flatMap(_.files).map(f => (f.urlEncodedPath, f.start, f.length)).toSet

  private def thirds(file: Int) =
    Seq(split(file, 0, 400), split(file, 400, 400), split(file, 800, 200))

  test("splits of an unknown file stay as Spark cut them") {
    join("1", "2")
    val planned = plan(thirds(1), maxSplitBytes = 1)
    assert(ranges(planned) === thirds(1).map(f => (f.urlEncodedPath, f.start, f.length)).toSet)
    assert(planned.map(_.index) === planned.indices)
    assert(planned.forall(p => Set("1", "2")(p.executors.head)))
  }

  test("splits of a known file follow its row groups, each where it is held") {
    join("1", "2")
    report("1", holds(2, 0, 1))
    report("2", holds(2, 2))
    val planned = plan(thirds(2))
    val placed =
      planned.map(p => (p.executors.mkString, p.files.map(f => (f.start, f.length)).toSeq)).toSet
    assert(placed === Set(("1", Seq((0L, 500L))), ("2", Seq((500L, 500L)))))
    assert(planned.map(_.preferredLocations().toSeq).toSet ===
      Set(Seq("executor_host1_1"), Seq("executor_host2_2")))
  }

  test("of executors that have one pool each may take any task, and is waited for by none") {
    join("1", "2", "3")
    for (id <- Seq("1", "2")) assert(directory.accept(
      ResidencyDelta(
        id,
        0,
        1,
        Seq(holds(2, 0, 2)),
        capacity,
        capacity,
        pool = Some("/p"))).isAccepted)
    val wait = Map("1" -> 10.0, "2" -> 0.0, "3" -> 0.0)
    val planned = plan(thirds(2), wait)
    assert(planned.map(_.files.map(_.start).toSeq) === Seq(Seq(0), Seq(500)))
    for (task <- planned) {
      assert(task.executors === Array("1", "2") && task.alternatives.isEmpty && !task.isGuest)
      assert(!task.belongsElsewhere("1") && !task.belongsElsewhere("2"))
      assert(task.belongsElsewhere("3"))
      assert(task.preferredLocations() === Array("executor_host1_1", "executor_host2_2"))
    }
    report("3", holds(2, 0, 1, 2, 3))
    assert(plan(thirds(2)).forall(_.executors === Array("3")))
    // The shared pool is nearly full, and what it has more than once may serve other applications.
    assert(released.isEmpty)
  }

  test("row groups of one executor that follow each other are one range") {
    join("1")
    report("1", holds(3, 0, 2))
    val planned = plan(thirds(3), maxSplitBytes = 2000)
    assert(planned.map(_.files.map(f => (f.start, f.length)).toSeq) === Seq(Seq((0L, Length))))
    val two = plan(thirds(3), maxSplitBytes = 500)
    assert(two.map(_.files.map(f => (f.start, f.length)).toSeq) ===
      Seq(Seq((0L, 500L)), Seq((500L, 500L))))
  }

  test("small files of one executor share tasks, whatever lies between them") {
    join("1", "2")
    report("1", (1 to 6).map(holds(_, 0, 2)): _*)
    report("2", (7 to 12).map(holds(_, 0, 2)): _*)
    val files = (1 to 6).flatMap(n => Seq(split(n, 0, Length), split(n + 6, 0, Length)))
    // To open a file costs as much for each of its two row groups.
    for ((openCost, filesOfTask) <- Seq(0L -> 3, 250L -> 2)) {
      val planned = plan(files, maxSplitBytes = 3 * Length, openCostBytes = openCost)
      assert(planned.map(_.files.length) === Seq.fill(12 / filesOfTask)(filesOfTask))
      val places = for (p <- planned; f <- p.files)
        yield (f.urlEncodedPath, f.start, f.length) -> p.preferredLocations().toSeq
      assert(places.toMap === (1 to 12).map { n =>
        (s"file:/data/f$n", 0L, Length) ->
          Seq(if (n <= 6) "executor_host1_1" else "executor_host2_2")
      }.toMap)
    }
  }

  test("small files that nobody knows share a task for each executor") {
    join("1", "2")
    val files = (1 to 8).map(split(_, 0, Length))
    val planned = plan(files, maxSplitBytes = 8 * Length)
    assert(planned.map(_.executors.mkString).toSet === Set("1", "2") && planned.length === 2)
    assert(ranges(planned) === files.map(f => (f.urlEncodedPath, f.start, f.length)).toSet)
  }

  test("a file of which only a part is listed is not cut anew") {
    join("1")
    report("1", holds(4, 0, 2))
    assert(ranges(plan(Seq(split(4, 400, 400)))) === Set(("file:/data/f4", 400L, 400L)))
  }

  test("a file that is listed twice is read twice") {
    join("1")
    report("1", holds(5, 0, 2))
    assert(plan(thirds(5) ++ thirds(5)).flatMap(_.files).map(_.length).sum === 2 * Length)
  }

  test("a folder that is two partitions keeps the values of each") {
    join("1")
    val parts = Seq("a", "b").map(name => InternalRow(UTF8String.fromString(name)))
    val splits = parts.flatMap(values => thirds(9).map(_.copy(partitionValues = values)))
    val planned = plan(splits, maxSplitBytes = 10 * Length).flatMap(_.files)
    for (values <- parts)
      assert(planned.filter(_.partitionValues == values).map(_.length).sum === Length)
  }

  test("copies in full pools are released where the row group does not belong") {
    for (isFull <- Seq(true, false)) {
      capacity = if (isFull) 550 else 10000
      join("1", "2")
      report("1", holds(6, 0, 1))
      report("2", holds(6, 0, 2))
      val planned = plan(thirds(6)).map(p => p.executors.mkString -> p.files.map(_.start).toSeq)
      assert(planned.toSet === Set("1" -> Seq(0), "2" -> Seq(500)))
      assert(released === (if (isFull) Seq(("2", Seq(key(6)), Seq(0))) else Nil))
    }
  }

  test("whose reports are missing is asked for a snapshot, if a plan does not know a file") {
    join("1", "2")
    report("1", holds(6, 0, 2))
    directory.executorJoined("3", "host3", 1)
    plan(thirds(6))
    assert(asked.isEmpty)
    plan(thirds(6) ++ thirds(7))
    assert(asked === Seq("3"))
    plan(thirds(7))
    assert(asked.isEmpty)
  }

  test("nobody is waited for longer than reading anew takes, or all work of the scan") {
    join("1", "2")
    report("1", holds(6, 0, 2))
    var waits = Map.empty[String, Double]
    val planned = plan(thirds(6), waits.getOrElse(_, 0.0))
    assert(planned.flatMap(_.preferredLocations()).toSet === Set("executor_host1_1"))
    // 200 bytes at 200 MB/s are a microsecond.
    waits = Map("1" -> 1.0)
    assert(planned.flatMap(_.preferredLocations()) === Nil)
    assert(plan(thirds(6), waits.getOrElse(_, 0.0)).forall(p =>
      p.preferredLocations().contains("executor_host2_2")))
  }

  test("what may be read by two executors comes last, and names both") {
    join("1", "2")
    report("1", holds(6, 0, 2), holds(7, 0, 2))
    report("2", holds(8, 0, 2))
    var waits = Map("1" -> 0.01)
    val planned = plan(thirds(6) ++ thirds(7) ++ thirds(8), waits.getOrElse(_, 0.0))
    val (own, shared) = planned.partition(_.alternatives.isEmpty)
    assert(own.forall(p => p.preferredLocations().length === 1))
    assert(shared.nonEmpty && shared.forall(p =>
      p.executors === Array("1") && p.alternatives === Array("2")))
    assert(shared.map(_.index).min > own.map(_.index).max)
    assert(shared.map(_.preferredLocations().toSeq).toSet ===
      Set(Seq("executor_host1_1", "executor_host2_2")))
    // One that seems busy for long may take some of them all the same, once it is not.
    waits = Map("1" -> 60.0)
    assert(shared.map(_.preferredLocations().toSeq).toSet ===
      Set(Seq("executor_host1_1", "executor_host2_2")))
    waits = Map("1" -> 60.0, "2" -> 60.0)
    assert(shared.flatMap(_.preferredLocations()) === Nil)
  }

  test("block hosts are the second choice for what is cached nowhere, and only for that") {
    join("1", "2")
    report("1", holds(7, 0, 2))
    val cold = plan(Seq(split(8, 0, Length, "block"))).head
    assert(cold.preferredLocations().toSeq ===
      Seq(s"executor_host${cold.executors.head}_${cold.executors.head}", "block"))
    val warm = plan(Seq(split(7, 0, Length, "block")))
    assert(warm.filter(_.executors.contains("1")).flatMap(_.preferredLocations()).toSet ===
      Set("executor_host1_1"))
  }

  test("without executors tasks may run anywhere") {
    join()
    val planned = plan(Seq(split(1, 0, Length, "block")))
    assert(planned.map(_.preferredLocations().toSeq) === Seq(Seq("block")))
    assert(planned.map(_.executors.toSeq) === Seq(Nil))
  }
}
