package io.oap.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The files in conf/ say what the code does. */
class ConfigurationFilesTest {
  private static final Path CONF = Path.of("..", "conf");

  /** Keys of Spark that a ready-made configuration sets for OAP's sake. */
  private static final List<String> SPARK_KEYS =
      List.of("spark.sql.extensions", "spark.executor.memoryOverhead");

  private static final String SPARK_PODS = "spark.kubernetes.executor.";

  static List<Path> readyMade() throws IOException {
    try (Stream<Path> files = Files.walk(CONF)) {
      return files.filter(file -> file.toString().endsWith(".conf")).sorted().toList();
    }
  }

  @Test
  void configurationPage_always_isWhatTheEntriesSay() throws IOException {
    assertEquals(
        ConfigPage.text(),
        Files.readString(CONF.resolve("CONFIGURATION.md")),
        "conf/CONFIGURATION.md is out of date: run dev/docs");
  }

  @Test
  void readyMade_always_areThere() throws IOException {
    assertFalse(readyMade().isEmpty());
  }

  @ParameterizedTest
  @MethodSource("readyMade")
  void readyMade_everyKey_isKnownAndItsValueAllowed(Path file) throws IOException {
    Map<String, String> settings = settings(file);
    assertEquals("io.oap.spark.OapExtensions", settings.get("spark.sql.extensions"));
    for (String key : settings.keySet()) {
      Optional<ConfigEntry<?>> entry =
          OapConfig.ALL.stream().filter(known -> known.key().equals(key)).findFirst();
      boolean isOfSpark = SPARK_KEYS.contains(key) || key.startsWith(SPARK_PODS);
      assertTrue(entry.isPresent() || isOfSpark, () -> file + " sets " + key);
      entry.ifPresent(known -> known.get(settings::get));
    }
  }

  /** Without the option, the file would stand in the place of the user's own defaults. */
  @ParameterizedTest
  @MethodSource("readyMade")
  void readyMade_always_saysHowItGoesWithOtherSettings(Path file) throws IOException {
    String head = Files.readString(file).split("\n\n", 2)[0].replaceAll("\\s+", " ");
    String command = "--load-spark-defaults --properties-file " + file.toString().substring(3);
    assertTrue(head.contains(command), () -> file + " has no " + command);
    String text = Files.readString(file);
    assertTrue(text.contains("# With other extensions, name all of them"), file::toString);
  }

  private static Map<String, String> settings(Path file) throws IOException {
    Map<String, String> settings = new LinkedHashMap<>();
    for (String line : Files.readAllLines(file)) {
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      String[] parts = line.strip().split("\\s+", 2);
      assertEquals(2, parts.length, () -> file + " has no value in: " + line);
      assertNull(settings.put(parts[0], parts[1]), () -> file + " sets twice: " + parts[0]);
    }
    return settings;
  }
}
