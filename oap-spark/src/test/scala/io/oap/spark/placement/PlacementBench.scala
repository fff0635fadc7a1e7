package io.oap.spark.placement

import java.lang.management.ManagementFactory

import scala.util.Random

import com.sun.management.OperatingSystemMXBean

/**
 * Measures Directory, Placement and PartitionPlan on a cluster of 1,000 executors with 10 million
 * chunks, prints each figure beside its bar, and exits with 3 when one does not hold. Run by
 * dev/placement-bench.
 */
object PlacementBench {
  private val Executors = 1000
  private val Splits = 100000
  private val RowGroups = 10000000 / ScaleSimulation.Columns / 4 * 4 + 4
  private val Seed = 1L
  private var allHold = true

  def main(args: Array[String]): Unit = {
    println(s"$Executors executors, ${RowGroups * ScaleSimulation.Columns} chunks, seed $Seed")
    fourRowGroups()
    println("The same with one row group in each file")
    oneRowGroup()
    println("One executor holds everything")
    skewed()
    println("Half of the executors joined late")
    late()
    println("Blocks of cold files lie on three hosts each, or on none that is here")
    onHosts()
    println("The first scan again, from Spark's splits on")
    tasks(new ScaleSimulation(Executors, RowGroups, 4, Seed), "nothing known")
    if (!allHold) System.exit(3)
  }

  private def fourRowGroups(): Unit = {
    val before = usedHeap()
    val simulation = new ScaleSimulation(Executors, RowGroups, 4, Seed)
    cold(simulation)
    simulation.fill(Splits / 4)
    memory(simulation, before)
    tasks(simulation, "all known")
    warm(simulation)
  }

  private def oneRowGroup(): Unit = {
    val before = usedHeap()
    val simulation = new ScaleSimulation(Executors, RowGroups, 1, Seed)
    simulation.fill(Splits)
    memory(simulation, before)
  }

  private def skewed(): Unit = {
    val executors =
      Array.tabulate(Executors)(e => LiveExecutor(e.toString, "host", 8, 1L << 40, 1L << 39))
    val bytes = 8L << 20
    val pieces = Array.tabulate(Splits)(i =>
      PlacementUnit(i, 4, bytes, Array(Holding(7, bytes, bytes)), 7, Array.empty))
    val runs = Seq.fill(3)(timed(Placement.place(pieces, executors, PlacementRules())))
    check("plan of 100,000 splits, s", runs.map(_._2).sorted.apply(1), 2)
    check("splits left to it, of 1,000", runs.last._1.executors.count(_ == 7) / 1e2, 10)
  }

  private def late(): Unit = {
    val executors = Array.tabulate(Executors) { e =>
      val usedBytes = if (e % 2 == 0) 1L << 32 else 0
      LiveExecutor(e.toString, "host", 8, 1L << 40, usedBytes, isLate = e % 2 == 1)
    }
    val bytes = 8L << 20
    val pieces = Array.tabulate(Splits) { i =>
      val holder = i % (Executors / 2) * 2
      PlacementUnit(i, 4, bytes, Array(Holding(holder, bytes, bytes)), holder, Array.empty)
    }
    val runs = Seq.fill(3)(timed(Placement.place(pieces, executors, PlacementRules())))
    check("plan of 100,000 splits, s", runs.map(_._2).sorted.apply(1), 2)
    val placed = runs.last._1
    val used = placed.executors.toSet ++ placed.alternatives.iterator.flatten
    check("late ones that get nothing", executors.indices.count(!used(_)), 0)
  }

  private def onHosts(): Unit = {
    val random = new Random(Seed)
    val executors =
      Array.tabulate(Executors)(e => LiveExecutor(e.toString, s"host$e", 8, 1L << 40, 0))
    for ((where, what) <- Seq(
        (() => s"host${random.nextInt(Executors)}", "here"),
        (() => "localhost", "elsewhere"))) {
      val pieces = Array.tabulate(Splits)(i =>
        PlacementUnit(i, 4, 8L << 20, Array.empty, -1, Array.fill(3)(where())))
      val runs = Seq.fill(3)(timed(Placement.place(pieces, executors, PlacementRules()))._2)
      check(s"plan of 100,000 splits, blocks $what, s", runs.sorted.apply(1), 2)
    }
  }

  private def cold(simulation: ScaleSimulation): Unit = {
    val hashOnly = PlacementRules(usesResidency = false)
    val seconds = Seq.fill(3)(timed(simulation.plan(Splits, hashOnly))._2).sorted
    check("plan of 100,000 splits, nothing known, s", seconds(1), 2)
    val plan = simulation.plan(Splits, hashOnly)
    check("most bytes of an executor over the mean", plan.imbalance, 1.25)
  }

  /** All that planning a scan takes: from Spark's splits to the preferred locations of all tasks. */
  private def tasks(simulation: => ScaleSimulation, what: String): Unit = {
    val runs = Seq.fill(3) {
      val cluster = simulation
      val splits = cluster.splits(Splits)
      timed(cluster.tasks(splits).count(_.preferredLocations().isEmpty))
    }
    check(s"preferred locations of all, $what, s", runs.map(_._2).sorted.apply(1), 2)
    check("tasks without", runs.map(_._1).max.toDouble, 0)
  }

  private def memory(simulation: ScaleSimulation, before: Long): Unit = {
    val totals = simulation.directory.totals()
    val bytes = usedHeap() - before
    val held = totals.executors.map(_.chunkBytes.toDouble)
    check(
      "chunks that are not in the Directory",
      (RowGroups * ScaleSimulation.Columns -
        totals.executors.map(_.chunks).sum).toDouble,
      0)
    check("heap of the Directory after GC, MB", bytes / 1e6, 200)
    check("the same over its own estimate", bytes.toDouble / totals.estimatedBytes, 1.25)
    check("most cached bytes of an executor over the mean", held.max / (held.sum / held.size), 1.25)
    check("bytes held twice, share", totals.heldTwiceBytes.toDouble / totals.heldBytes, 0.03)
  }

  private def warm(simulation: ScaleSimulation): Unit = {
    val runs = Seq.fill(3)(timed(simulation.plan(Splits)))
    check("plan of 100,000 splits, all known, s", runs.map(_._2).sorted.apply(1), 2)
    check("most wanted bytes of an executor over the mean", runs.last._1.imbalance, 1.25)
    val before = simulation.plan(Splits)
    val lost = before.places(0)
    val (_, seconds) = timed(simulation.directory.executorLost(lost))
    check("forgetting a lost executor, s", seconds, 0.1)
    val after = simulation.plan(Splits)
    val moved = before.places.indices.filter(i => before.places(i) != after.places(i))
    check("splits moved by its loss, of 1,000", moved.size * 1000.0 / Splits, 1.5)
    check("of these, not its own", moved.count(before.places(_) != lost).toDouble, 0)
  }

  private def check(what: String, figure: Double, bar: Double): Unit = {
    val holds = figure <= bar
    allHold &&= holds
    println(f"$what%-50s $figure%10.3f  at most $bar%8.3f  ${if (holds) "holds" else "MISSED"}")
  }

  /** Seconds of processor time of all threads, which others on the machine do not lengthen. */
  private def timed[A](run: => A): (A, Double) = {
    val begun = processor.getProcessCpuTime
    val result = run
    (result, (processor.getProcessCpuTime - begun) / 1e9)
  }

  private val processor = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])

  private def usedHeap(): Long = {
    // One collection leaves what finalizers and references still hold.
    for (_ <- 1 to 3) System.gc()
    val runtime = Runtime.getRuntime
    runtime.totalMemory - runtime.freeMemory
  }
}
