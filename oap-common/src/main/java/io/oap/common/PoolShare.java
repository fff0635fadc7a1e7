package io.oap.common;

import java.io.Serializable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A part of the pool of each executor.
 *
 * @param text as a user wrote it
 * @param percent so many percent of the pool's capacity, above 0 and at most 100; 0 where it is
 *     bytes
 * @param bytes so many bytes, at least 1; 0 where it is percent
 */
public record PoolShare(String text, double percent, long bytes) implements Serializable {

  /** What {@link #parse} takes, as the end of a sentence. */
  public static final String ALLOWED = "a part of each executor's pool such as 60%, 512m or 10g";

  private static final Pattern PERCENT = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*%");

  /**
   * Reads a share.
   *
   * @throws IllegalArgumentException when it is none
   */
  public static PoolShare parse(String input) {
    String text = input.trim();
    Matcher matcher = PERCENT.matcher(text);
    boolean isPercent = matcher.matches();
    double percent = isPercent ? Double.parseDouble(matcher.group(1)) : 0;
    long bytes = isPercent ? 0 : ConfigText.parseSize(text);
    if (percent > 100 || percent == 0 && bytes == 0) {
      throw new IllegalArgumentException(input);
    }
    return new PoolShare(text, percent, bytes);
  }

  /** Its bytes in a pool of this capacity. */
  public long of(long capacityBytes) {
    return percent > 0 ? (long) (capacityBytes * (percent / 100)) : Math.min(bytes, capacityBytes);
  }

  @Override
  public String toString() {
    return text;
  }
}
