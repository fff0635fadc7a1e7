package io.oap.cache.pool;

/**
 * Whether a chunk that is not held may enter the pool, and at what cost to others. The order is
 * that of oap_admission in native/.
 */
public enum Admission {
  /** It enters; others leave for it. */
  EVICTING,
  /** It enters room that nothing has: for readers whose chunks belong to another executor. */
  IF_FREE,
  /** It is read around the pool. */
  NEVER
}
