package io.oap.cache.vector;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * A set of integers prepared for filters: dates, decimals and timestamps as the numbers that the
 * chunk holds. Made once per query and shared by all threads; never changes. Its native memory is
 * given back when it is closed, or when nothing refers to it any more.
 */
public final class KeySet implements AutoCloseable {

  private final long set;
  private final Cleaner.Cleanable memory;

  private KeySet(long set) {
    this.set = set;
    this.memory = NativeVector.CLEANER.register(this, () -> NativeVector.keySetClose(set));
  }

  /**
   * Prepares a set: a range where the keys have no gaps, a bitmap where they lie close enough, else
   * a hash table.
   *
   * @param keys in any order, with or without duplicates; may be empty; not kept
   * @throws VectorException when there is no memory or no native library
   */
  public static KeySet of(long... keys) {
    VectorException.ensureLoaded();
    return new KeySet(VectorException.check(NativeVector.keySetOpen(keys)));
  }

  /** How many different keys there are. */
  public long size() {
    long size = NativeVector.keySetSize(set);
    Reference.reachabilityFence(this);
    return size;
  }

  /** The least key; 0 when there is none. */
  public long minimum() {
    long minimum = NativeVector.keySetMinimum(set);
    Reference.reachabilityFence(this);
    return minimum;
  }

  /** The greatest key; 0 when there is none. */
  public long maximum() {
    long maximum = NativeVector.keySetMaximum(set);
    Reference.reachabilityFence(this);
    return maximum;
  }

  /** Native memory, in bytes. */
  public long memory() {
    long bytes = NativeVector.keySetMemory(set);
    Reference.reachabilityFence(this);
    return bytes;
  }

  /** Whether any key lies between two values, both included: for statistics of row groups. */
  public boolean meets(long minimum, long maximum) {
    boolean meets = NativeVector.keySetMeets(set, minimum, maximum);
    Reference.reachabilityFence(this);
    return meets;
  }

  /** Whether it is one of them. */
  public boolean contains(long key) {
    return meets(key, key);
  }

  /** For a native call, after which the caller puts a reachability fence. */
  long address() {
    return set;
  }

  /** Gives the memory back. No thread may use the set meanwhile or later. */
  @Override
  public void close() {
    memory.clean();
  }
}
