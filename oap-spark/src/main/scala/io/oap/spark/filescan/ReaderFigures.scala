package io.oap.spark.filescan

import org.apache.spark.util.AccumulatorV2

import io.oap.spark.status.Figures

/** What all tasks of one scan have counted, as far as they have ended. */
private[filescan] final class ReaderFigures extends AccumulatorV2[Figures, Figures] {
  private var sum = Figures.NONE

  override def isZero: Boolean = sum == Figures.NONE

  override def copy(): ReaderFigures = {
    val other = new ReaderFigures
    other.sum = sum
    other
  }

  override def reset(): Unit = sum = Figures.NONE

  override def add(more: Figures): Unit = sum = sum.plus(more)

  override def merge(other: AccumulatorV2[Figures, Figures]): Unit = add(other.value)

  override def value: Figures = sum
}
