package io.oap.spark.cluster

import org.scalatest.funsuite.AnyFunSuite

/** When a task is expected to wait, by the events alone. */
class ExecutorOccupancySuite extends AnyFunSuite {
  private var millis = 0L
  private def occupancy() = new ExecutorOccupancy(() => millis * 1000000, 3600L * 1000000000)
  private val load = occupancy()
  private def pass(time: Long): Unit = millis += time
  private def wait(executor: String): Double = load.expectedWaitSeconds(executor)

  load.executorJoined("a", "host", 2)
  load.executorJoined("b", "host", 1)

  test("events decide, in the order of a day") {
    pass(1000)
    assert(wait("a") === 0 && wait("b") === 0, "all are free")

    load.taskStarted("a", 1, 10)
    pass(1000)
    assert(wait("a") === 0, "one slot of two is free")

    load.taskStarted("a", 2, 10)
    pass(4000)
    assert(wait("a") === 5.0, "full, by a stage that came 5 s ago")
    assert(wait("b") === 0)
    assert(wait("unknown") === 0)

    load.taskEnded("a", 2)
    pass(10)
    load.taskStarted("a", 3, 10)
    pass(990)
    assert(wait("a") === 6.0, "a slot that is taken again at once was not free")

    load.taskStarted("b", 4, 11)
    pass(100)
    assert(wait("a") === 6.0 && wait("b") === 0, "nobody is idle, but b may be so sooner")

    load.taskEnded("a", 3)
    pass(10)
    load.taskStarted("a", 5, 12)
    pass(40)
    load.taskEnded("b", 4)
    pass(60)
    assert(wait("a") === 0.1, "the stage that came last may be the first to leave")

    load.taskEnded("a", 5)
    pass(100)
    assert(wait("a") === 0, "a slot is free")
    load.taskStarted("a", 6, 12)
    pass(2000)
    assert(wait("a") === 2.0, "it had a free slot meanwhile")
  }

  test("who waits anywhere waits nowhere longer") {
    val load = occupancy()
    Seq("a", "b").foreach(load.executorJoined(_, "host", 1))
    load.taskStarted("a", 1, 10)
    pass(60000)
    load.taskStarted("b", 2, 11)
    pass(300)
    def waits = Seq("a", "b").map(load.expectedWaitSeconds)
    assert(waits === Seq(60.0, 0.0))
    load.taskEnded("b", 2)
    pass(10)
    load.taskStarted("b", 3, 11)
    pass(300)
    assert(waits === Seq(60.0, 0.0), "the same stage")
    load.taskEnded("b", 3)
    pass(51)
    assert(waits === Seq(60.661, 0.0), "b is idle")
  }

  test("tasks of a stage that ended are gone, though their end was not heard") {
    val load = occupancy()
    load.executorJoined("a", "host", 1)
    load.executorJoined("b", "host", 1)
    load.taskStarted("a", 1, 10)
    pass(1000)
    assert(load.expectedWaitSeconds("a") === 1.0)
    load.stageEnded(10)
    pass(1000)
    assert(load.expectedWaitSeconds("a") === 0)
  }

  test("tasks that no executor runs any more are gone, though no event has told of it") {
    val load = occupancy()
    load.executorJoined("a", "host", 2)
    load.executorJoined("b", "host", 2)
    def waits = Seq("a", "b").map(load.expectedWaitSeconds)
    Seq(1, 2).foreach(load.taskStarted("a", _, 10))
    Seq(3, 4).foreach(load.taskStarted("b", _, 11))
    pass(1000)
    load.taskEnded("b", 3)
    pass(1000)
    assert(waits === Seq(2.0, 0.0))
    load.compare(Map("a" -> 2, "b" -> 1))
    pass(1000)
    assert(waits === Seq(3.0, 0.0), "they run")
    load.compare(Map("b" -> 1))
    pass(1000)
    assert(waits === Seq(4.0, 0.0), "Spark does not tell")
    load.compare(Map("a" -> 1, "b" -> 1))
    pass(1000)
    assert(waits === Seq(0.0, 0.0), "one of two has ended")
    load.taskStarted("a", 5, 12)
    pass(1000)
    load.compare(Map("a" -> 1))
    pass(1000)
    assert(waits === Seq(0.0, 0.0), "the older one has ended")
    load.taskStarted("a", 6, 12)
    pass(1000)
    load.taskEnded("a", 5)
    load.compare {
      val before = Map("a" -> 1)
      load.taskStarted("a", 7, 12)
      before
    }
    pass(1000)
    assert(waits === Seq(4.0, 0.0), "what begins meanwhile ends none")
  }

  test("an executor that is lost is waited for no more, and is not idle") {
    val load = occupancy()
    load.executorJoined("a", "host", 1)
    load.executorJoined("b", "host", 1)
    load.taskStarted("a", 1, 10)
    pass(1000)
    load.executorLost("b")
    pass(1000)
    assert(load.expectedWaitSeconds("a") === 0)
  }

  test("an executor that Spark gives no tasks, or whose host gets none, is never waited for") {
    val load = occupancy()
    load.executorJoined("a", "left", 1)
    load.executorJoined("b", "right", 1)
    def waits = Seq("a", "b").map(load.expectedWaitSeconds)
    load.excluded("a")
    assert(waits === Seq(Double.PositiveInfinity, 0.0))
    load.excluded("right")
    assert(waits === Seq(Double.PositiveInfinity, Double.PositiveInfinity))
    load.included("a")
    load.included("right")
    assert(waits === Seq(0.0, 0.0))
  }

  test("an exclusion ends after its time, though no event has told of it") {
    val load = occupancy()
    load.executorJoined("a", "left", 1)
    load.executorJoined("b", "right", 1)
    def waits = Seq("a", "b").map(load.expectedWaitSeconds)
    load.excluded("a")
    load.excluded("right")
    pass(3599L * 1000)
    assert(waits === Seq(Double.PositiveInfinity, Double.PositiveInfinity))
    pass(1000)
    assert(waits === Seq(0.0, 0.0))
    load.excluded("a")
    assert(waits === Seq(Double.PositiveInfinity, 0.0), "and can begin anew")
  }
}
