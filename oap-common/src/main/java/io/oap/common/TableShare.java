package io.oap.common;

/**
 * What part of each executor's pool tables may have, or are sure of.
 *
 * @param table name, path or pattern
 * @param share the part, for each table that it stands for
 */
public record TableShare(String table, PoolShare share) {

  /**
   * Reads {@code table=share}. A path may have an equals sign in it; a share has none.
   *
   * @throws IllegalArgumentException when it is none
   */
  static TableShare parse(String text) {
    int at = text.lastIndexOf('=');
    if (at < 0 || text.substring(0, at).isBlank()) {
      throw new IllegalArgumentException(text);
    }
    return new TableShare(text.substring(0, at).trim(), PoolShare.parse(text.substring(at + 1)));
  }
}
