package io.oap.spark.executor

/**
 * A value that is made again only when what it is made of has changed. Where making it takes long,
 * it is also kept for a while in which that has changed: no more than a twentieth of the time goes
 * into it, however often it is asked for. Thread-safe; one caller at a time makes the value.
 *
 * @param version equal for as long as the value is right
 * @param make throws what [[get]] is to throw; then nothing is remembered
 * @param nanoTime a clock as `System.nanoTime`
 */
private[spark] final class Remembered[A](
    version: () => Any,
    make: () => A,
    nanoTime: () => Long = () => System.nanoTime()) {

  private case class Made(value: A, version: Any, at: Long, nanos: Long)

  @volatile private var made: Option[Made] = None

  /** The value, as it is or as it was a little while ago. */
  def get: A = good.getOrElse(synchronized(good.getOrElse(anew()))).value

  private def good: Option[Made] = made.filter(last =>
    last.nanos > Remembered.LongNanos && nanoTime() - last.at < Remembered.Rest * last.nanos ||
      last.version == version())

  private def anew(): Made = {
    val before = version()
    val begun = nanoTime()
    val value = make()
    val now = nanoTime()
    val last = Made(value, before, now, now - begun)
    made = Some(last)
    last
  }
}

private[spark] object Remembered {

  /** What takes no longer than 50 ms is always right. */
  private val LongNanos = 50L * 1000 * 1000

  private val Rest = 20L
}
