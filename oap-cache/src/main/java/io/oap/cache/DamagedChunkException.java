package io.oap.cache;

/** A chunk that no file has was damaged in the pool; its owner has to compute it anew. */
public final class DamagedChunkException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public DamagedChunkException() {
    super("A cached chunk was damaged in the pool; its block is removed and computed again");
  }
}
