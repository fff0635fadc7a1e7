package io.oap.spark.read

import org.apache.spark.SparkException
import org.scalatest.funsuite.AnyFunSuite

/** Which errors Spark may take for those of a corrupt file. */
class FileBlameSuite extends AnyFunSuite {

  private def unreadable =
    new InternalError(
      "a fault occurred in a recent unsafe memory access operation in compiled code")

  /** What becomes of an error that a reader ends by. */
  private def outcome(error: Throwable): Throwable =
    intercept[Throwable](FileBlame.sparing[Unit](throw error))

  private def causes(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).toSeq

  for ((what, error) <- Seq(
      "as it is" -> unreadable,
      "as the cause of a reader's error" -> new RuntimeException("cannot decode", unreadable)))
    test(s"a chunk that its disk does not give fails the task and not the executor, $what") {
      val failure = outcome(error)
      assert(failure.isInstanceOf[SparkException])
      assert(failure.getMessage.contains("cannot be read from its disk"))
      assert(causes(failure) === Seq(failure))
      assert(failure.getSuppressed === Array(error))
    }

  test("what a codec says of corrupt bytes is the file's fault") {
    val error = new InternalError("Could not decompress data. Input is invalid.")
    assert(outcome(error) eq error)
  }
}
