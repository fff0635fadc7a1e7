package io.oap.spark.status

import java.util.{Map => JavaMap}

import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.stats.Figure

/** Which figures of executors count. */
class CacheStatusSuite extends AnyFunSuite {

  private def told(number: Long, hits: Int): ToldFigures = {
    val figures = Figures.ofJson(JavaMap.of("hits", hits))
    ToldFigures(
      number,
      new ExecutorReport("1", "host", ExecutorReport.OPEN, null, null, figures, null))
  }

  test("figures that were asked for do not take the place of newer ones, and all are logged") {
    val status = new CacheStatus(isReplayed = false)
    status.executorAdded("1", "host")
    def hits: Long = status.totals.figures.get(Figure.HITS)
    def logged(figures: ToldFigures): Long =
      status.accept(figures).report.readers.get(Figure.HITS)
    assert(logged(told(number = 2, hits = 5)) === 5)
    assert(logged(told(number = 1, hits = 3)) === 3)
    assert(hits === 5)
    status.executorRemoved("1")
    assert(logged(told(number = 1, hits = 3)) === 3)
    assert(hits === 5)
    assert(logged(told(number = 3, hits = 6)) === 6)
    assert(hits === 6)
  }
}
