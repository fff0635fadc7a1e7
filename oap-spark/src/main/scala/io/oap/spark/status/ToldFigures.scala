package io.oap.spark.status

/**
 * Figures as an executor has told them. They may come to the driver on several ways, and late.
 *
 * @param number greater than those of all figures that the executor has told before
 */
private[spark] final case class ToldFigures(number: Long, report: ExecutorReport)
