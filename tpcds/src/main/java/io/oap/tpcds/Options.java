package io.oap.tpcds;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a person asks for on the command line of dev/quickstart, dev/tpcds-compare and
 * dev/lake-commits.
 *
 * <p>This file depends on nothing but the JDK: the scripts run it with {@code java Options.java}
 * before anything is built, so that a wrong option is answered at once. {@link #main} prints the
 * arguments that spark-submit itself needs; the same class reads the same options in the job.
 *
 * @param scale TPC-DS scale factor: about this many GB of raw data
 * @param queries names such as q19 or q14a, in the order in which they run; empty means all
 * @param master Spark master
 * @param data local folder for generated data, shared by all scales
 * @param iterations timed runs of each query and system
 * @param partitioned whether fact tables are partitioned by their date
 * @param layouts of compare: plain, partitioned or both
 * @param form how tables are kept, a word of {@code TableForm}
 * @param storage hdd, s3 or local
 * @param poolSize capacity of the pool of each executor, in Spark's notation
 * @param report where the JSON report goes
 * @param minutes how long commits are made
 * @param every seconds from the begin of one commit to that of the next one
 * @param seed of what is random
 */
public record Options(
    double scale,
    List<String> queries,
    String master,
    String data,
    int iterations,
    boolean partitioned,
    List<String> layouts,
    String form,
    String storage,
    String poolSize,
    String report,
    int minutes,
    int every,
    int seed) {

  /** The nine I/O-heavy queries of the published measurements. */
  public static final String NINE_QUERIES = "q19,q42,q43,q52,q55,q63,q68,q73,q98";

  /** How tables can be kept; dev/lib/forms.py has the libraries that each wants. */
  public static final List<String> FORMS =
      List.of(
          "parquet",
          "iceberg",
          "iceberg-deletes",
          "iceberg-vectors",
          "delta",
          "delta-deletes",
          "orc");

  private static final List<String> LAYOUTS = List.of("plain", "partitioned");

  /** Who reads the options. */
  public enum Command {
    QUICKSTART(
        """
        Usage: dev/quickstart [options]

        Runs nine TPC-DS queries with Spark alone, with OAP cold and with OAP warm, compares their
        rows, prints a table and writes a report.

          --scale N          TPC-DS scale factor, about N GB of raw data (default 1)
          --queries LIST     queries, such as q52,q68 (default the nine I/O-heavy ones)
          --master URL       Spark master (default local[*])
          --data FOLDER      where the generated data is kept (default .cache/tpcds)
          --iterations N     timed runs of each query and system (default 3)
          --partitioned      fact tables partitioned by their date
          --form FORM        how tables are kept: parquet, iceberg, iceberg-deletes,
                             iceberg-vectors, delta, delta-deletes or orc (default parquet)
          --storage CLASS    local: as it is; hdd: 4 MB/s per core;
                             s3: 60 MB/s per core, 20 ms per request (default local)
          --pool-size SIZE   the pool's capacity in each executor (default 2g)
          --report FILE      where the report goes (default report.json)
          --help             this text
        """,
        Set.of(
            "--scale",
            "--queries",
            "--master",
            "--data",
            "--iterations",
            "--partitioned",
            "--form",
            "--storage",
            "--pool-size",
            "--report")),
    COMPARE(
        """
        Usage: dev/tpcds-compare [options]

        Runs all TPC-DS queries with Spark alone, with OAP cold and with OAP warm, with fact
        tables partitioned by their date and not, and compares their rows. Warm runs of the nine
        I/O-heavy queries must read no byte of data files, as the file system counts them.
        Partitions are up to two thousand files a table, which takes its time at every scale.

          --scale N          TPC-DS scale factor, about N GB of raw data (default 1)
          --queries LIST     queries, such as q52,q14a (default all)
          --master URL       Spark master (default local[*])
          --data FOLDER      where the generated data is kept (default .cache/tpcds)
          --layouts LIST     plain, partitioned or both (default plain,partitioned)
          --form FORM        how tables are kept: parquet, iceberg, iceberg-deletes,
                             iceberg-vectors, delta, delta-deletes or orc (default parquet)
          --pool-size SIZE   the pool's capacity in each executor (default 2g)
          --help             this text
        """,
        Set.of("--scale", "--queries", "--master", "--data", "--layouts", "--form", "--pool-size")),
    COMMITS(
        """
        Usage: dev/lake-commits [options]

        Runs the nine I/O-heavy queries on a copy of store_sales while MERGE, UPDATE and DELETE
        change it every few seconds. Compares all rows with those of Spark alone on the same
        snapshot, and counts how many chunks that are asked for again are still there.

          --form FORM        iceberg, iceberg-vectors, delta or delta-deletes (default iceberg);
                             changes are position deletes or deletion vectors, but in delta, where
                             files are written anew
          --minutes N        how long (default 5)
          --every N          seconds from commit to commit (default 3)
          --seed N           of what is random (default any)
          --scale N          TPC-DS scale factor, about N GB of raw data (default 1)
          --master URL       Spark master, local (default local[*])
          --data FOLDER      where the generated data is kept (default .cache/tpcds)
          --pool-size SIZE   the pool's capacity (default 2g)
          --help             this text
        """,
        Set.of(
            "--form",
            "--minutes",
            "--every",
            "--seed",
            "--scale",
            "--master",
            "--data",
            "--pool-size"));

    private final String usage;
    private final Set<String> names;

    Command(String usage, Set<String> names) {
      this.usage = usage;
      this.names = names;
    }

    public String usage() {
      return usage;
    }

    /** As it is written on the command line of {@link #main}. */
    static Command named(String name) {
      return valueOf(name.toUpperCase(java.util.Locale.ROOT));
    }
  }

  /** An option that cannot be used; the message is one line for the person who typed it. */
  public static final class Rejected extends Exception {
    private static final long serialVersionUID = 1;

    public Rejected(String message) {
      super(message);
    }
  }

  private static final String PARTITIONED = "--partitioned";
  private static final Pattern QUERY = Pattern.compile("q[1-9][0-9]?[ab]?");
  private static final Pattern SIZE = Pattern.compile("[1-9][0-9]*[kmgtKMGT]?b?");

  /**
   * Reads options written as {@code --name value} or {@code --name=value}.
   *
   * @throws Rejected when one is unknown, lacks its value or has a value that makes no sense
   */
  public static Options parse(Command command, List<String> arguments) throws Rejected {
    Map<String, String> given = read(command, arguments);
    String allQueries = command == Command.COMPARE ? "" : NINE_QUERIES;
    String form = command == Command.COMMITS ? "iceberg" : "parquet";
    String anySeed = Integer.toString(1 + new Random().nextInt(9999));
    return new Options(
        positive("--scale", given.getOrDefault("--scale", "1")),
        queries(given.getOrDefault("--queries", allQueries)),
        given.getOrDefault("--master", "local[*]"),
        folder(given.getOrDefault("--data", ".cache/tpcds")),
        wholeNumber("--iterations", given.getOrDefault("--iterations", "3")),
        given.containsKey(PARTITIONED),
        some("--layouts", LAYOUTS, given),
        form(given.getOrDefault("--form", form)),
        storage(given.getOrDefault("--storage", "local")),
        matching("--pool-size", SIZE, "a size such as 512m or 2g", given, "2g"),
        given.getOrDefault("--report", "report.json"),
        wholeNumber("--minutes", given.getOrDefault("--minutes", "5")),
        wholeNumber("--every", given.getOrDefault("--every", "3")),
        wholeNumber("--seed", given.getOrDefault("--seed", anySeed)));
  }

  private static Map<String, String> read(Command command, List<String> arguments) throws Rejected {
    Map<String, String> given = new LinkedHashMap<>();
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      int equals = argument.startsWith("--") ? argument.indexOf('=') : -1;
      String name = equals < 0 ? argument : argument.substring(0, equals);
      if (!command.names.contains(name)) {
        throw new Rejected("unknown option " + name);
      }
      String value = "";
      if (name.equals(PARTITIONED)) {
        if (equals >= 0) {
          throw new Rejected(name + " takes no value");
        }
      } else if (equals >= 0) {
        value = argument.substring(equals + 1);
      } else if (i + 1 < arguments.size() && !arguments.get(i + 1).startsWith("--")) {
        value = arguments.get(++i);
      }
      if (value.isEmpty() && !name.equals(PARTITIONED)) {
        throw new Rejected(name + " needs a value");
      }
      given.put(name, value);
    }
    return given;
  }

  private static List<String> queries(String text) throws Rejected {
    List<String> names = text.isEmpty() ? List.of() : Arrays.asList(text.split(",", -1));
    for (String name : names) {
      if (!QUERY.matcher(name).matches()) {
        throw new Rejected("--queries wants names such as q52,q14a, not '" + name + "'");
      }
    }
    return names;
  }

  private static String folder(String text) throws Rejected {
    if (text.matches("[a-zA-Z][a-zA-Z0-9+.-]*:/.*")) {
      throw new Rejected("--data wants a folder of this machine, not '" + text + "'");
    }
    return text;
  }

  private static List<String> some(String name, List<String> all, Map<String, String> given)
      throws Rejected {
    List<String> words =
        given.containsKey(name) ? Arrays.asList(given.get(name).split(",", -1)) : all;
    for (String word : words) {
      if (!all.contains(word)) {
        throw new Rejected(
            name + " wants some of " + String.join(",", all) + ", not '" + word + "'");
      }
    }
    return words;
  }

  private static String form(String text) throws Rejected {
    if (!FORMS.contains(text)) {
      throw new Rejected("--form is one of " + String.join(", ", FORMS) + ", not '" + text + "'");
    }
    return text;
  }

  private static String storage(String text) throws Rejected {
    if (!Set.of("hdd", "s3", "local").contains(text)) {
      throw new Rejected("--storage is hdd, s3 or local, not '" + text + "'");
    }
    return text;
  }

  private static double positive(String name, String text) throws Rejected {
    try {
      double number = Double.parseDouble(text);
      if (number > 0 && number <= 100_000) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Answered below, like a number out of range.
    }
    throw new Rejected(name + " wants a number above 0, not '" + text + "'");
  }

  private static int wholeNumber(String name, String text) throws Rejected {
    if (!text.matches("[1-9][0-9]{0,3}")) {
      throw new Rejected(name + " wants a whole number from 1 to 9999, not '" + text + "'");
    }
    return Integer.parseInt(text);
  }

  private static String matching(
      String name, Pattern pattern, String wanted, Map<String, String> given, String byDefault)
      throws Rejected {
    String text = given.getOrDefault(name, byDefault);
    if (!pattern.matcher(text).matches()) {
      throw new Rejected(name + " wants " + wanted + ", not '" + text + "'");
    }
    return text;
  }

  /** What spark-submit has to know before the job starts. */
  List<String> submitArguments() {
    List<String> lines = new ArrayList<>();
    lines.addAll(List.of("--master", master));
    lines.addAll(List.of("--conf", "spark.oap.pool.size=" + poolSize));
    return lines;
  }

  /**
   * {@code java Options.java <command> <options>}: prints spark-submit's arguments, one a line, or
   * the usage. Exit status 2 and one line on standard error for options that cannot be used.
   */
  public static void main(String[] args) {
    Command command = Command.named(args[0]);
    List<String> arguments = Arrays.asList(args).subList(1, args.length);
    if (arguments.contains("--help")) {
      System.out.print(command.usage());
      return;
    }
    try {
      parse(command, arguments).submitArguments().forEach(System.out::println);
    } catch (Rejected e) {
      System.err.println(e.getMessage() + " (--help lists the options)");
      System.exit(2);
    }
  }
}
