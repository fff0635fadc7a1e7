package io.oap.cache.file;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** Divides what passes through the heap on its way, so that not all of it lies there at once. */
public final class HeapRuns {

  /** Bytes of a run, unless one item has more. */
  public static final long MOST_BYTES = 32L << 20;

  private HeapRuns() {}

  /**
   * Divides items into runs of at most {@link #MOST_BYTES}, in their order. An item that is larger
   * is a run of its own.
   *
   * @param bytes of an item
   */
  public static <T> List<List<T>> of(List<T> items, ToLongFunction<T> bytes) {
    return of(items, bytes, MOST_BYTES);
  }

  /**
   * Divides items as the other method, by another bound.
   *
   * @param bytes of an item, in the unit of the bound
   * @param mostBytes of a run, unless one item has more
   */
  public static <T> List<List<T>> of(List<T> items, ToLongFunction<T> bytes, long mostBytes) {
    List<List<T>> runs = new ArrayList<>();
    long left = 0;
    for (T item : items) {
      left -= bytes.applyAsLong(item);
      if (left < 0 || runs.isEmpty()) {
        runs.add(new ArrayList<>());
        left = mostBytes - bytes.applyAsLong(item);
      }
      runs.get(runs.size() - 1).add(item);
    }
    return runs;
  }
}
