package io.oap.spark.executor

import org.scalatest.funsuite.AnyFunSuite

/** How paths are divided among requests. */
final class PathSlicesSuite extends AnyFunSuite {
  import PathSlices.MostChars

  private def path(chars: Int, number: Int): String = f"$number%06d" + "x" * (chars - 6)

  test("few paths are one slice, and none are an empty one") {
    val few = (1 to 1000).map(path(100, _))
    assert(PathSlices.of(few) === Seq(few))
    assert(PathSlices.of(Nil) === Seq(Nil))
  }

  test("many paths are slices of bounded size, in order") {
    val many = (1 to 100000).map(i => path(100 + i % 50, i))
    val slices = PathSlices.of(many)
    assert(slices.flatten === many)
    assert(slices.forall(_.map(_.length).sum <= MostChars))
    assert(slices.init.forall(_.map(_.length).sum > MostChars - 150))
  }

  test("a path that is larger than a slice is one") {
    val paths = Seq(path(10, 1), path(MostChars + 1, 2), path(10, 3))
    assert(PathSlices.of(paths) === paths.map(Seq(_)))
  }
}
