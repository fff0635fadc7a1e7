package io.oap.tpcds

import java.io.{ByteArrayOutputStream, PrintStream}

import org.scalatest.funsuite.AnyFunSuite

/** The line at the bottom of the terminal. */
class ProgressSuite extends AnyFunSuite {
  private def printed(isTerminal: Boolean)(use: Progress => Unit): String = {
    val bytes = new ByteArrayOutputStream
    use(new Progress(new PrintStream(bytes, true), isTerminal))
    bytes.toString
  }

  test("a bar fills from left to right and never overflows") {
    assert(Progress.bar(0, 10) == "[" + "." * 24 + "]")
    assert(Progress.bar(5, 10) == "[" + "#" * 12 + "." * 12 + "]")
    assert(Progress.bar(11, 10) == "[" + "#" * 24 + "]")
    assert(Progress.bar(0, 0) == "[" + "." * 24 + "]")
  }

  test("on a terminal the line is rewritten in place and leaves nothing behind") {
    val out = printed(isTerminal = true) { progress =>
      progress.show("a long step", 1, 2, "runs")
      progress.show("short", 2, 2, "")
      progress.clear()
    }
    assert(!out.contains("\n"))
    val lines = out.split("\r").filter(_.nonEmpty)
    assert(lines(1).length == lines(0).length, "the longer line is covered")
    assert(lines.last.isBlank)
  }

  test("elsewhere each step is said once") {
    val out = printed(isTerminal = false) { progress =>
      progress.show("step one", 0, 2, "runs")
      progress.show("step one", 1, 2, "runs")
      progress.show("step two", 2, 2, "runs")
      progress.say("done")
    }
    assert(out.linesIterator.toSeq == Seq("step one", "step two", "done"))
  }
}
