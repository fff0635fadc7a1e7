package io.oap.cache.stats;

/**
 * Why a chunk that a reader asked for was not in the pool of its process. The first three were
 * loaded into it, the others read around it.
 */
public enum MissCause {
  /** This process has not held it before, as far as a bounded memory tells. */
  COLD(true),
  /** It was held, and has left: for others, for its own vector chunk, or with a smaller pool. */
  EVICTED(true),
  /** An earlier version of the file was held in this column: the file was written again. */
  CHANGED_FILE(true),
  /**
   * The chunk belongs to another executor, and there is no room here that nothing else has; or its
   * table has its quota, and what it has there is wanted more.
   */
  NOT_ADMITTED(false),
  /** It is larger than the pool can ever hold. */
  TOO_LARGE(false),
  /** Chunks that are in use or kept leave no room for it. */
  PINNED_FULL(false),
  /**
   * It is read around the pool: some of its pages were wanted only, another task's load of it
   * failed or lasted too long, or the pool has failed.
   */
  OTHER(false);

  private final boolean isLoaded;

  MissCause(boolean isLoaded) {
    this.isLoaded = isLoaded;
  }

  /** Whether the chunk was put into the pool then. */
  public boolean isLoaded() {
    return isLoaded;
  }
}
