package io.oap.tpcds.cluster

import scala.collection.mutable.ArrayBuffer

/** What a measurement has to reach, and whether it did. Each is printed as it is judged. */
final class Bars(print: String => Unit) {
  private val missed = ArrayBuffer.empty[String]

  /** A number with at most this many digits behind the point. */
  def atMost(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"at most $bar%.4g", value <= bar)

  def below(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"below $bar%.4g", value < bar)

  def atLeast(what: String, value: Double, bar: Double): Unit =
    judge(what, f"$value%.4g", f"at least $bar%.4g", value >= bar)

  /** Nothing of a kind may have happened; the first ones are named. */
  def none(what: String, found: Seq[String]): Unit =
    judge(what, if (found.isEmpty) "none" else found.take(3).mkString("; "), "none", found.isEmpty)

  private def judge(what: String, value: String, bar: String, isReached: Boolean): Unit = {
    if (!isReached) missed += what
    print(s"${if (isReached) "PASS" else "FAIL"}  $what: $value (bar: $bar)")
  }

  def areReached: Boolean = missed.isEmpty
}
