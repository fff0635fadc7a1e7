package io.oap.common;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The reference page of the configuration, conf/CONFIGURATION.md, made from its entries. */
public final class ConfigPage {
  private static final String OPENING =
      """
      # Configuration of OAP

      One line switches OAP on:

      ```
      spark.sql.extensions  io.oap.spark.OapExtensions
      ```

      All other keys have defaults. They are set like any Spark configuration: in
      `spark-defaults.conf`, with `--conf key=value`, or on the session builder. Keys that take
      effect per session also change at run time, with `SET key=value`; static ones are read once: by
      the driver, or by an executor when it first uses its cache.

      They are keys of Spark's own then: `SET -v` lists them, a value that is not allowed fails the
      start of the application or the `SET` with `INVALID_CONF_VALUE`, the key and what is allowed,
      and a session cannot set a static key. A key under `spark.oap.` that there is not is warned
      about in the driver's log, with the nearest one there is.

      This page is generated from `OapConfig`: change it there and run `dev/docs`.

      """;

  private ConfigPage() {}

  /**
   * Writes the page.
   *
   * @param arguments the file to write
   */
  public static void main(String[] arguments) throws IOException {
    Files.writeString(Path.of(arguments[0]), text());
  }

  /** The whole page, ending with a line end. */
  static String text() {
    StringBuilder page = new StringBuilder(OPENING);
    page.append("| Key | Type and unit | Default | Allowed | Meaning | Takes effect | Since |\n");
    page.append("|---|---|---|---|---|---|---|\n");
    for (ConfigEntry<?> entry : OapConfig.ALL) {
      appendRow(
          page,
          "`" + entry.key() + "`",
          entry.type(),
          entry.defaultText().isEmpty() ? "none" : "`" + entry.defaultText() + "`",
          entry.allowed(),
          entry.meaning(),
          entry.scope() == ConfigEntry.Scope.SESSION ? "per session" : "static",
          entry.since());
    }
    return page.toString();
  }

  private static void appendRow(StringBuilder page, String... cells) {
    for (String cell : cells) {
      page.append("| ").append(cell.replace("|", "\\|")).append(' ');
    }
    page.append("|\n");
  }
}
