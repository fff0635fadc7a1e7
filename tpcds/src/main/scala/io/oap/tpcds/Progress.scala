package io.oap.tpcds

import java.io.PrintStream

/**
 * The line at the bottom of the terminal that says what is going on. On a terminal it is rewritten
 * in place; into a file or a pipe each new step is a line of its own, without the bars.
 *
 * For one thread at a time.
 */
final class Progress(out: PrintStream, isTerminal: Boolean) {
  private var shown = 0
  private var lastStep = ""

  /** Shows a step that is under way, and how far it is. */
  def show(step: String, done: Long, total: Long, detail: String): Unit = {
    if (isTerminal) {
      rewrite(s"$step ${Progress.bar(done, total)} $done/$total $detail")
    } else if (step != lastStep) {
      out.println(step)
    }
    lastStep = step
  }

  /** Prints a line that stays. */
  def say(line: String): Unit = {
    clear()
    out.println(line)
  }

  /** Takes the line away. */
  def clear(): Unit = {
    if (shown > 0) rewrite("")
    if (isTerminal) out.print("\r")
    out.flush()
  }

  private def rewrite(text: String): Unit = {
    val line = text.take(Progress.Width)
    out.print("\r" + line.padTo(shown, ' '))
    out.flush()
    shown = line.length
  }
}

object Progress {
  private val Width = 99
  private val BarWidth = 24

  /** On standard output. */
  def ofTerminal(): Progress = new Progress(System.out, System.console() != null)

  private[tpcds] def bar(done: Long, total: Long): String = {
    val filled = if (total <= 0) 0 else (BarWidth * math.min(done, total) / total).toInt
    "[" + "#" * filled + "." * (BarWidth - filled) + "]"
  }
}
