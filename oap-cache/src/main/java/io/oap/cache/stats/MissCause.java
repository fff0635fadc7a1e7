package io.oap.cache.stats;

import java.util.Locale;

/**
 * Why a chunk that a reader asked for was not in the pool of its process. The first three were
 * loaded into it, the others read around it. Each has its {@link Figure}.
 */
public enum MissCause {
  COLD(true, "this process has not held it before, as far as a bounded memory tells"),
  EVICTED(true, "it was held, and has left: for others, its own vector chunk, or a smaller pool"),
  CHANGED_FILE(true, "an earlier version of the file was held in this column"),
  NOT_ADMITTED(false, "there is no room that nothing else has, or its table has its quota"),
  TOO_LARGE(false, "larger than the pool can ever hold"),
  PINNED_FULL(false, "chunks in use or kept leave no room"),
  OTHER(
      false,
      "some of its pages were wanted only, another task's load failed or lasted too long, or the pool"
          + " has failed");

  private final boolean isLoaded;
  private final String reason;

  MissCause(boolean isLoaded, String reason) {
    this.isLoaded = isLoaded;
    this.reason = reason;
  }

  /** Whether the chunk was put into the pool then. */
  public boolean isLoaded() {
    return isLoaded;
  }

  /** Says to users why. */
  public String reason() {
    return reason;
  }

  /** The cause in a word or two, for a table. */
  public String words() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
