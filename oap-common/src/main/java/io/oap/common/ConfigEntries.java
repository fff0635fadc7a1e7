package io.oap.common;

import io.oap.common.ConfigEntry.Scope;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Makes entries of {@link OapConfig} by the kind of their values. */
final class ConfigEntries {

  private ConfigEntries() {}

  /** True or false. */
  static ConfigEntry<Boolean> bool(String key, boolean defaultValue, Scope scope, String meaning) {
    return new ConfigEntry<>(
        key,
        "boolean",
        Boolean.toString(defaultValue),
        "true or false",
        scope,
        "0.1.0",
        meaning,
        ConfigText::parseBoolean);
  }

  /** Names, paths and patterns of tables; none is the default. */
  static ConfigEntry<List<String>> tables(String key, String meaning) {
    return new ConfigEntry<>(
        key,
        "list of tables",
        "",
        "names, paths and patterns of tables, separated by commas, or nothing",
        Scope.SESSION,
        "0.1.0",
        meaning,
        text -> items(text).toList());
  }

  /** Tables with their shares; none is the default. */
  static ConfigEntry<List<TableShare>> shares(
      String key, String share, String meaning, Predicate<List<TableShare>> isAllowed) {
    return new ConfigEntry<>(
        key,
        "list of tables with percent or bytes",
        "",
        "names, paths and patterns of tables, each with = and " + share + "; with commas between",
        Scope.STATIC,
        "0.1.0",
        meaning,
        text -> {
          List<TableShare> list = items(text).map(TableShare::parse).toList();
          if (!isAllowed.test(list)) {
            throw new IllegalArgumentException(text);
          }
          return list;
        });
  }

  /** Of a form that {@link ConfigText} or a class of its own parses. */
  static <T> ConfigEntry<T> parsed(
      String key,
      String kind,
      String defaultText,
      String allowed,
      String meaning,
      Function<String, T> parse) {
    return new ConfigEntry<>(
        key, kind, defaultText, allowed, Scope.STATIC, "0.1.0", meaning, parse);
  }

  private static Stream<String> items(String text) {
    return Arrays.stream(text.split(",")).map(String::trim).filter(item -> !item.isEmpty());
  }

  /** Its value is in bytes. */
  static ConfigEntry<Long> size(String key, String defaultText, long least, String meaning) {
    return new ConfigEntry<>(
        key,
        "bytes",
        defaultText,
        "a size of at least " + least + " bytes, such as 512m, 64g or 2t",
        Scope.STATIC,
        "0.1.0",
        meaning,
        text -> ConfigText.atLeast(least, ConfigText.parseSize(text)));
  }

  /** Its value is in milliseconds. */
  static ConfigEntry<Long> duration(String key, String defaultText, String meaning) {
    return new ConfigEntry<>(
        key,
        "duration in ms, s, m or h",
        defaultText,
        "a time such as 500ms, 30s or 2m",
        Scope.STATIC,
        "0.1.0",
        meaning,
        ConfigText::parseMillis);
  }

  /** One of a few words; the first is the default. */
  static ConfigEntry<String> choice(String key, List<String> words, Scope scope, String meaning) {
    return new ConfigEntry<>(
        key,
        "string",
        words.get(0),
        "one of " + String.join(", ", words),
        scope,
        "0.1.0",
        meaning,
        text -> {
          String word = text.toLowerCase(Locale.ROOT);
          if (!words.contains(word)) {
            throw new IllegalArgumentException(text);
          }
          return word;
        });
  }

  /** Some of a few words; all of them are the default. */
  static ConfigEntry<List<String>> words(String key, List<String> words, String meaning) {
    return new ConfigEntry<>(
        key,
        "list of words",
        String.join(",", words),
        "some of " + String.join(", ", words) + ", separated by commas, or nothing",
        Scope.SESSION,
        "0.1.0",
        meaning,
        text -> {
          List<String> chosen = items(text.toLowerCase(Locale.ROOT)).toList();
          if (!words.containsAll(chosen)) {
            throw new IllegalArgumentException(text);
          }
          return chosen;
        });
  }
}
