package io.oap.common;

import java.util.Arrays;
import java.util.BitSet;
import java.util.stream.Collectors;

/** Sets of memory nodes below 64: a long whose bit n stands for node n, and their text. */
public final class NodeNumbers {
  private NodeNumbers() {}

  /** Reads numbers that are separated by commas; 0 for no text. */
  public static long parse(String numbers) {
    return Arrays.stream(numbers.split(","))
        .filter(text -> !text.isEmpty())
        .mapToLong(text -> 1L << Integer.parseInt(text))
        .reduce(0, (a, b) -> a | b);
  }

  /** Writes the numbers with commas between, the lowest first. */
  public static String text(long nodes) {
    return BitSet.valueOf(new long[] {nodes}).stream()
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(","));
  }
}
