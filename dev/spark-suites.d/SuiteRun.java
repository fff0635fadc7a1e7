// Runs test suites of Spark one after the other in one JVM and writes what each test did as lines.

package io.oap.suites;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.scalatest.Reporter;
import org.scalatest.events.Event;
import org.scalatest.events.RunAborted;
import org.scalatest.events.SuiteAborted;
import org.scalatest.events.TestCanceled;
import org.scalatest.events.TestFailed;
import org.scalatest.events.TestIgnored;
import org.scalatest.events.TestPending;
import org.scalatest.events.TestStarting;
import org.scalatest.events.TestSucceeded;
import org.scalatest.tools.Runner;

/**
 * Main class and ScalaTest reporter in one. Arguments: the file the lines are appended to, then the
 * class names of the suites, run in this order. A line has tab-separated fields, the first says
 * what it is:
 *
 * <ul>
 *   <li>{@code suite <class>}: begins
 *   <li>{@code start <test>}: begins; a JVM that dies leaves this line without a result
 *   <li>{@code passed|failed|canceled|ignored|pending <test> <milliseconds> <message>}
 *   <li>{@code aborted <message>}: the suite could not be run to its end
 *   <li>{@code cache <chunks hit> <chunks missed> <chunks bypassed> <bytes from the pool>}: totals of
 *       this JVM; only with OAP on the class path
 *   <li>{@code end <class> <milliseconds>}
 * </ul>
 *
 * <p>ScalaTest calls {@link #apply} from one thread at a time; {@link #main} writes only while no
 * suite runs. Every line is flushed, since the JVM may die in the next test.
 */
public final class SuiteRun implements Reporter {
  private static PrintWriter lines;

  /** Runs the suites; exit status 0 whatever the tests did, since the lines say it. */
  public static void main(String[] args) {
    try {
      lines =
          new PrintWriter(
              Files.newBufferedWriter(
                  Path.of(args[0]),
                  StandardCharsets.UTF_8,
                  StandardOpenOption.CREATE,
                  StandardOpenOption.APPEND),
              true);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (int i = 1; i < args.length; i++) {
      write("suite", args[i]);
      writeCacheCounters();
      long started = System.nanoTime();
      Runner.run(new String[] {"-C", SuiteRun.class.getName(), "-s", args[i]});
      writeCacheCounters();
      write("end", args[i], Long.toString((System.nanoTime() - started) / 1_000_000));
    }
    // Suites may leave threads behind that are no daemons.
    System.exit(0);
  }

  @Override
  public void apply(Event event) {
    if (event instanceof TestStarting e) {
      write("start", e.testName());
    } else if (event instanceof TestSucceeded e) {
      result("passed", e.testName(), e.duration(), "");
    } else if (event instanceof TestFailed e) {
      result("failed", e.testName(), e.duration(), described(e.message(), e.throwable()));
    } else if (event instanceof TestCanceled e) {
      result("canceled", e.testName(), e.duration(), e.message());
    } else if (event instanceof TestIgnored e) {
      write("ignored", e.testName(), "0", "");
    } else if (event instanceof TestPending e) {
      result("pending", e.testName(), e.duration(), "");
    } else if (event instanceof SuiteAborted e) {
      write("aborted", described(e.message(), e.throwable()));
    } else if (event instanceof RunAborted e) {
      write("aborted", described(e.message(), e.throwable()));
    }
  }

  private static void result(
      String outcome, String test, scala.Option<Object> millis, String message) {
    write(outcome, test, millis.isDefined() ? millis.get().toString() : "0", message);
    writeCacheCounters();
  }

  private static String described(String message, scala.Option<Throwable> throwable) {
    if (throwable.isEmpty()) {
      return message;
    }
    // The lines hold one message per test; the whole story goes into the JVM's log.
    throwable.get().printStackTrace(System.out);
    return throwable.get().getClass().getName() + ": " + message;
  }

  /** Totals since the JVM started; nothing when OAP is not on the class path. */
  private static void writeCacheCounters() {
    Class<?> control;
    try {
      control = Class.forName("io.oap.spark.CacheControl");
    } catch (ClassNotFoundException e) {
      return;
    }
    try {
      Object counters = control.getMethod("localCounters").invoke(null);
      write(
          "cache",
          number(counters, "chunksHit"),
          number(counters, "chunksMissed"),
          number(counters, "chunksBypassed"),
          number(counters, "bytesFromPool"));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("CacheControl.localCounters() is not what is expected", e);
    }
  }

  private static String number(Object counters, String name) throws ReflectiveOperationException {
    return counters.getClass().getMethod(name).invoke(counters).toString();
  }

  private static synchronized void write(String... fields) {
    StringBuilder line = new StringBuilder();
    for (String field : fields) {
      if (line.length() > 0) {
        line.append('\t');
      }
      line.append(
          field
              .replace("\\", "\\\\")
              .replace("\t", "\\t")
              .replace("\n", "\\n")
              .replace("\r", "\\r"));
    }
    lines.println(line);
  }
}
