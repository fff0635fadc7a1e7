package io.oap.spark.executor

import org.scalatest.funsuite.AnyFunSuite

/** When a remembered value is made again. */
class RememberedSuite extends AnyFunSuite {
  private val Ms = 1000000L
  private var version = 0
  private var now = 0L
  private var made = 0

  private def remembered(costNanos: Long) = new Remembered[Int](
    () => version,
    () => {
      made += 1
      now += costNanos
      made
    },
    () => now)

  test("made again when what it is made of has changed, and only then") {
    val value = remembered(costNanos = 50 * Ms)
    val first = value.get
    now += 1000000 * Ms
    assert(value.get == first)
    version += 1
    assert(value.get == first + 1 && value.get == first + 1)
  }

  test("what takes long is kept for twenty times as long, though it has changed") {
    val value = remembered(costNanos = 100 * Ms)
    val first = value.get
    version += 1
    now += 1999 * Ms
    assert(value.get == first)
    now += Ms
    assert(value.get == first + 1)
  }

  test("of one that is made of another one, no more than the other's age is added") {
    val inner = remembered(costNanos = 100 * Ms)
    val outer = new Remembered[Int](() => inner.get, () => inner.get, () => now)
    val first = outer.get
    version += 1
    assert(outer.get == first)
    now += 2000 * Ms
    assert(outer.get == first + 1)
  }

  test("after an error it is tried again") {
    var fails = true
    val value = new Remembered[Int](
      () => 0,
      () => if (fails) throw new IllegalStateException("not now") else 7)
    assertThrows[IllegalStateException](value.get)
    fails = false
    assert(value.get == 7)
  }
}
