package io.oap.cache.pool;

import java.nio.charset.Charset;
import java.nio.file.Path;

/**
 * Where a pool comes from that outlives its process; the Java face of {@code oap_origin}.
 *
 * @param isReopened whether it goes on with what another process has left
 * @param chunks how many it has found
 * @param bytes of those
 * @param refused entries that were there, and were damaged or of no use to another process
 * @param unusable why another one, whose process is gone, was not taken over; empty where none is
 *     left
 * @param home its files, without their ending
 */
public record PoolOrigin(
    boolean isReopened, long chunks, long bytes, long refused, String unusable, Path home) {

  /** File names are bytes, in this charset. */
  public static Charset fileNames() {
    return Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
  }

  /** The origin of a native pool; null: it is a pool without a name. */
  static PoolOrigin of(long pool) {
    long[] n = new long[4];
    String unusable = new String(NativePool.origin(pool, n, false), fileNames());
    String home = new String(NativePool.origin(pool, n, true), fileNames());
    return home.isEmpty()
        ? null
        : new PoolOrigin(n[0] != 0, n[1], n[2], n[3], unusable, Path.of(home));
  }

  /** Where the names of its files are written down. */
  public Path names() {
    return home.resolveSibling(home.getFileName() + ".names");
  }

  /** What became of the pools that were there, in words for a log. */
  public String inWords() {
    if (isReopened) {
      return "reopened " + home + " with " + chunks + " chunks, " + bytes + " bytes";
    }
    return unusable.isEmpty()
        ? "new in " + home + ", since none was left there"
        : "new in " + home + ", since the one that was left there is of no use: " + unusable;
  }
}
