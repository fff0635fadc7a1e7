package io.oap.common;

import java.util.Arrays;
import java.util.List;

/**
 * What a pool consists of, besides the other settings of it.
 *
 * @param memoryBytes size of the tier in memory; 0: as the other settings say
 * @param folder where the file of the lower tier is; empty: there is none
 * @param fileBytes its size
 */
public record PoolTiers(long memoryBytes, String folder, long fileBytes) {

  /** A file tier has at least one segment of its log. */
  private static final long LEAST_FILE = 64L << 20;

  private static final long LEAST_MEMORY = 1L << 20;

  /** What {@link #parse} takes, as the end of a sentence. */
  static final String ALLOWED =
      "dram:SIZE (at least 1m; may be left out), then file:FOLDER:SIZE (at least 64m), with a comma"
          + " between, such as dram:8g, file:/mnt/nvme:400g; or nothing";

  private static final PoolTiers NONE = new PoolTiers(0, "", 0);

  /**
   * Reads the tiers, or nothing.
   *
   * @throws IllegalArgumentException when it is neither
   */
  static PoolTiers parse(String text) {
    if (text.isBlank()) {
      return NONE;
    }
    List<String> items = Arrays.stream(text.split(",", -1)).map(String::trim).toList();
    String file = items.get(items.size() - 1);
    int end = file.lastIndexOf(':');
    int start = "file:".length();
    if (items.size() > 2 || !file.startsWith("file:") || end <= start) {
      throw new IllegalArgumentException(text);
    }
    return new PoolTiers(
        items.size() == 2 ? memory(items.get(0)) : 0,
        file.substring(start, end),
        ConfigText.atLeast(LEAST_FILE, ConfigText.parseSize(file.substring(end + 1))));
  }

  private static long memory(String item) {
    if (!item.startsWith("dram:")) {
      throw new IllegalArgumentException(item);
    }
    return ConfigText.atLeast(LEAST_MEMORY, ConfigText.parseSize(item.substring("dram:".length())));
  }
}
