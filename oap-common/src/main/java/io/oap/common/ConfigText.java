package io.oap.common;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Turns the text of configuration values into what they mean. All methods throw {@link
 * IllegalArgumentException} for text that means nothing.
 */
final class ConfigText {
  private static final Pattern NUMBER_WITH_UNIT = Pattern.compile("(\\d+)\\s*([a-zA-Z]*)");
  private static final String NODE = "([0-9]|[1-5][0-9]|6[0-3])";
  private static final String NODE_NUMBERS = NODE + "(," + NODE + ")*";
  private static final Pattern NODE_LIST = Pattern.compile(NODE_NUMBERS);
  private static final Pattern NODES = Pattern.compile("(interleave:)?" + NODE_NUMBERS);

  private ConfigText() {}

  /** Reads true or false, in letters of any case. */
  static boolean parseBoolean(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException(text);
    };
  }

  /** Reads a size such as {@code 64g}; returns bytes. */
  static long parseSize(String text) {
    Matcher matcher = matchNumber(text);
    int shift =
        switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
          case "", "b" -> 0;
          case "k", "kb" -> 10;
          case "m", "mb" -> 20;
          case "g", "gb" -> 30;
          case "t", "tb" -> 40;
          case "p", "pb" -> 50;
          default -> throw new IllegalArgumentException(text);
        };
    long number = Long.parseLong(matcher.group(1));
    if (number > Long.MAX_VALUE >> shift) {
      throw new IllegalArgumentException(text);
    }
    return number << shift;
  }

  /** Reads a time such as {@code 30s}; returns milliseconds. */
  static long parseMillis(String text) {
    Matcher matcher = matchNumber(text);
    long number = Long.parseLong(matcher.group(1));
    try {
      return switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
        case "ms" -> number;
        case "s" -> Duration.ofSeconds(number).toMillis();
        case "m", "min" -> Duration.ofMinutes(number).toMillis();
        case "h" -> Duration.ofHours(number).toMillis();
        default -> throw new IllegalArgumentException(text);
      };
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(text, e);
    }
  }

  private static Matcher matchNumber(String text) {
    Matcher matcher = NUMBER_WITH_UNIT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(text);
    }
    return matcher;
  }

  /** Returns the value. */
  static long atLeast(long least, long value) {
    if (value < least) {
      throw new IllegalArgumentException(Long.toString(value));
    }
    return value;
  }

  /** Reads off, auto or numbers of memory nodes; returns it in small letters. */
  static String parseBinding(String text) {
    String word = text.toLowerCase(Locale.ROOT);
    if (!word.equals("off") && !word.equals("auto") && !NODE_LIST.matcher(word).matches()) {
      throw new IllegalArgumentException(text);
    }
    return word;
  }

  /** Reads numbers of memory nodes, or nothing; returns the text. */
  static String parseNodes(String text) {
    if (!text.isEmpty() && !NODES.matcher(text).matches()) {
      throw new IllegalArgumentException(text);
    }
    return text;
  }
}
