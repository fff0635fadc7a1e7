package io.oap.cache;

import java.util.function.IntConsumer;

/** Steps of which each has to be taken, whatever becomes of the others. */
final class Steps {
  private Steps() {}

  /**
   * Takes the steps 0 to {@code count} - 1.
   *
   * @throws Error the last one of those that steps threw, such as a lack of memory
   */
  static void runAll(int count, IntConsumer step) {
    Error error = null;
    for (int i = 0; i < count; i++) {
      try {
        step.accept(i);
      } catch (Error e) {
        error = e;
      }
    }
    if (error != null) {
      throw error;
    }
  }
}
