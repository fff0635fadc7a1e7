package io.oap.tpcds.lake

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.lake.AskedChunks.{Ask, Counted}

/** Which asks for chunks count. */
class AskedChunksSuite extends AnyFunSuite {

  test("first asks do not count, later ones do, by chunk") {
    val (a, b) = (Seq(1L, 2L, 0L, 0L), Seq(1L, 2L, 0L, 1L))
    val asks = Seq(Ask(a, false), Ask(b, false), Ask(a, true), Ask(b, false), Ask(b, true))
    assert(AskedChunks.count(asks) == Counted(5, 3, 2))
    assert(Counted(5, 4, 3).percent == 75)
    assert(AskedChunks.count(Nil).percent == 0)
  }
}
