package io.oap.common;

import java.util.Objects;
import java.util.function.Function;

/**
 * One configuration key: name, type, default, allowed values and meaning, said once. The reference
 * page conf/CONFIGURATION.md is generated from these.
 *
 * @param <T> type of the parsed value
 */
public final class ConfigEntry<T> {

  /** When a changed value takes effect. */
  public enum Scope {
    /** Read at every query; each SQL session may have its own. */
    SESSION,
    /** Read once, by the driver, or by an executor when it first uses its cache. */
    STATIC
  }

  private final String key;
  private final String type;
  private final String defaultText;
  private final String allowed;
  private final Scope scope;
  private final String since;
  private final String meaning;
  private final Function<String, T> parser;

  ConfigEntry(
      String key,
      String type,
      String defaultText,
      String allowed,
      Scope scope,
      String since,
      String meaning,
      Function<String, T> parser) {
    this.key = key;
    this.type = type;
    this.defaultText = defaultText;
    this.allowed = allowed;
    this.scope = scope;
    this.since = since;
    this.meaning = meaning;
    this.parser = parser;
    Objects.requireNonNull(parse(defaultText));
  }

  public String key() {
    return key;
  }

  /** What kind of value it is, with its unit where it has one. */
  public String type() {
    return type;
  }

  public String defaultText() {
    return defaultText;
  }

  public String allowed() {
    return allowed;
  }

  public Scope scope() {
    return scope;
  }

  public String since() {
    return since;
  }

  public String meaning() {
    return meaning;
  }

  /**
   * The value that a configuration gives this key.
   *
   * @param lookup returns the text set for a key, or null when it is not set
   * @throws IllegalArgumentException naming the key, the text and what is allowed
   */
  public T get(Function<String, String> lookup) {
    String text = lookup.apply(key);
    return parse(text == null ? defaultText : text);
  }

  /** Whether a text is a value of this key. */
  public boolean allows(String text) {
    try {
      parse(text);
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private T parse(String text) {
    try {
      return parser.apply(text.trim());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Invalid value '" + text + "' for " + key + ": expected " + allowed + ".", e);
    }
  }
}
