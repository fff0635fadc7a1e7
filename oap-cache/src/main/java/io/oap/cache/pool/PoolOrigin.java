package io.oap.cache.pool;

import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Where a pool comes from that outlives its process; the Java face of {@code oap_origin}.
 *
 * @param isReopened whether it goes on with what another process has left, or has
 * @param isJoined whether other processes have it, too
 * @param member the number of this process among those that share it; -1: it is not to be shared
 * @param chunks how many it has found; 0 where it has joined others
 * @param bytes of those
 * @param refused entries that were there, and were damaged or of no use to another process
 * @param unusable why another one, whose process is gone, was not taken over; empty where none is
 *     left
 * @param home its files, without their ending
 */
public record PoolOrigin(
    boolean isReopened,
    boolean isJoined,
    int member,
    long chunks,
    long bytes,
    long refused,
    String unusable,
    Path home) {

  /** How many processes may share a pool, as in native/include/oap_pool.h. */
  private static final int MOST_MEMBERS = 16;

  /** File names are bytes, in this charset. */
  public static Charset fileNames() {
    return Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
  }

  /** The origin of a native pool; null: it is a pool without a name. */
  static PoolOrigin of(long pool) {
    long[] n = new long[6];
    String unusable = new String(NativePool.origin(pool, n, false), fileNames());
    String home = new String(NativePool.origin(pool, n, true), fileNames());
    return home.isEmpty()
        ? null
        : new PoolOrigin(
            n[0] != 0,
            n[1] != 0,
            NativePool.members(pool) == 0 ? -1 : (int) n[2],
            n[3],
            n[4],
            n[5],
            unusable,
            Path.of(home));
  }

  /** Where this process writes down the names of the files that it knows. */
  public Path names() {
    return member < 0 ? named(".names") : namesOf(member);
  }

  /** Where each of those that share the pool with this process does, or may. */
  public List<Path> othersNames() {
    return IntStream.range(0, member < 0 ? 0 : MOST_MEMBERS)
        .filter(other -> other != member)
        .mapToObj(this::namesOf)
        .toList();
  }

  private Path namesOf(int number) {
    return named(".names." + number);
  }

  private Path named(String ending) {
    return home.resolveSibling(home.getFileName() + ending);
  }

  /** What became of the pools that were there, in words for a log. */
  public String inWords() {
    if (isJoined) {
      return "shared in " + home + " with other processes";
    }
    if (isReopened) {
      return "reopened " + home + " with " + chunks + " chunks, " + bytes + " bytes";
    }
    return unusable.isEmpty()
        ? "new in " + home + ", since none was left there"
        : "new in " + home + ", since the one that was left there is of no use: " + unusable;
  }
}
