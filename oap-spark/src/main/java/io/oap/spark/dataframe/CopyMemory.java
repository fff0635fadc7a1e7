package io.oap.spark.dataframe;

import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.unsafe.Platform;

/**
 * Memory outside the heap that is given back at once when this is closed: what waits for the
 * garbage collector adds up over many tasks, as it is no burden to the heap. Nothing is written to
 * it at first, so pages that no value comes to cost nothing. For one thread, but any may close it.
 */
final class CopyMemory implements AutoCloseable {
  private final Set<Long> addresses = new HashSet<>();
  private boolean isClosed;

  /**
   * Returns the address of some memory, a multiple of 8 bytes. What is in it is unspecified.
   *
   * @throws OutOfMemoryError when there is none
   */
  long allocate(long bytes) {
    long address = Platform.allocateMemory(bytes);
    addresses.add(address);
    return address;
  }

  /**
   * Replaces some memory by a larger one with the bytes of the former.
   *
   * @param used how many bytes that has
   * @return the new address
   * @throws OutOfMemoryError when there is none, and then the former stays
   */
  long enlarge(long address, long used, long bytes) {
    long larger = allocate(bytes);
    Platform.copyMemory(null, address, null, larger, used);
    addresses.remove(address);
    Platform.freeMemory(address);
    return larger;
  }

  /**
   * Does something with the memory, which is not given back meanwhile.
   *
   * @throws IllegalStateException when it has been given back: a thread may outlive its task
   */
  synchronized <A> A use(Supplier<A> body) {
    if (isClosed) {
      throw new IllegalStateException("the task has ended that caches these rows");
    }
    return body.get();
  }

  /** Gives all of it back. Closing again does nothing. */
  @Override
  public synchronized void close() {
    isClosed = true;
    addresses.forEach(Platform::freeMemory);
    addresses.clear();
  }
}
