package io.oap.spark.cluster

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.internals.SparkInternals

/** Executors whose coming or going no event has told of. */
class ExecutorReconcilerSuite extends AnyFunSuite {
  private val Minute = 60L * 1000 * 1000 * 1000
  private var now = 7L
  private var known = Set.empty[String]
  private var there = Set.empty[String]
  private var described = Seq.empty[SparkInternals.Executor]
  private var comparedTasks = 0
  private val told = ArrayBuffer.empty[String]

  private def membership = new ExecutorReconciler(
    () => known,
    () => there,
    () => described,
    one => told += s"${one.id} joined",
    id => told += s"$id lost",
    () => comparedTasks += 1,
    () => now)

  private def executor(id: String) = new SparkInternals.Executor(id, s"host$id", 2, true)

  test("who is there and not known has joined, who is known and not there is lost") {
    told.clear()
    val members = membership
    known = Set("1", "2")
    there = Set("2", "3")
    described = Seq("1", "2", "3").map(executor)
    members.check()
    assert(told.isEmpty, "events have their time")
    now += Minute
    members.check()
    assert(told === Seq("1 lost", "3 joined"))
    assert(comparedTasks === 1)
    members.check()
    assert(told.size === 2, "once a minute is enough")
    known = Set("2", "3")
    now += Minute
    members.check()
    assert(told.size === 2)
  }

  test("who has just come is neither lost nor joined while Spark cannot tell its host") {
    told.clear()
    val members = membership
    known = Set("1")
    there = Set("1", "2")
    described = Nil
    now += Minute
    members.check()
    assert(told.isEmpty)
  }
}
