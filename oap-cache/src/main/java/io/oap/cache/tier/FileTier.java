package io.oap.cache.tier;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Errno;
import io.oap.cache.pool.NativeLibrary;
import io.oap.cache.pool.PoolException;
import io.oap.cache.pool.PoolOrigin;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.pool.Reservation;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store below a pool, in an unnamed file on a disk; the Java face of native/include/oap_tier.h,
 * where the rules stand. A thread of its own copies down what is about to leave the pool and is
 * asked for again and again.
 *
 * <p>Thread-safe, {@link #close} included: a closed tier holds nothing. Whatever is wrong with the
 * disk, a chunk is not found.
 */
public final class FileTier implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(FileTier.class);
  private static final Cleaner CLEANER = Cleaner.create();

  private final long tier;
  private final Path folder;
  private final AtomicBoolean hasToldOfEnd = new AtomicBoolean();

  private FileTier(long tier, Path folder, ColumnPool pool) {
    this.tier = tier;
    this.folder = folder;
    // Its thread is in the pool until it is stopped, so that the pool has to outlive it.
    CLEANER.register(
        this,
        () -> {
          NativeTier.close(tier);
          Reference.reachabilityFence(pool);
        });
  }

  /**
   * Opens an empty tier.
   *
   * @param folder where its file is, without a name
   * @param bytes of the file, rounded down to multiples of 64 MiB
   * @param pool what it lies below
   * @throws IOException saying in one line why it cannot be had
   */
  public static FileTier open(Path folder, long bytes, ColumnPool pool) throws IOException {
    NativeLibrary.ensureLoaded();
    byte[] path = (folder + "\0").getBytes(PoolOrigin.fileNames());
    long[] address = new long[1];
    int error = -NativeTier.open(path, bytes, address);
    if (error != 0) {
      throw fault(folder, bytes, error);
    }
    FileTier tier = new FileTier(address[0], folder, pool);
    error = -NativeTier.follow(tier.tier, pool.address());
    if (error != 0) {
      tier.close();
      throw fault(folder, bytes, error);
    }
    return tier;
  }

  private static IOException fault(Path folder, long bytes, int error) {
    String advice =
        switch (error) {
          case Errno.EINVAL -> "it is smaller than a segment of 64 MiB";
          case Errno.ENOSPC -> "there is no room for it; choose a smaller size or another folder";
          case Errno.ENOENT, Errno.ENOTDIR -> "there is no such folder";
          case Errno.EACCES, Errno.EPERM -> "this user must be able to write there";
          case Errno.EFBIG -> "this process may make no file so large";
          case Errno.ENOMEM -> "there is no memory for its index";
          default -> "the system refused it";
        };
    return new IOException(
        "Cannot open a file tier of "
            + bytes
            + " bytes in "
            + folder
            + ": "
            + advice
            + PoolException.reason(error));
  }

  /** The length of a chunk that it holds; 0 where it does not. */
  public long find(ChunkKey key) {
    FileId file = key.file();
    long bytes =
        NativeTier.find(tier, file.high(), file.low(), key.groupAndColumn(), key.representation());
    Reference.reachabilityFence(this);
    if (bytes == -Errno.ESHUTDOWN && hasToldOfEnd.compareAndSet(false, true)) {
      LOG.warn(
          "The file tier in {} has failed too often and is not used any more by this process;"
              + " what leaves the pool is read from its files again.",
          folder);
    }
    return Math.max(0, bytes);
  }

  /**
   * Reads a chunk into memory that is reserved for it.
   *
   * @return its note; nothing when it has no such chunk of that length, or none that could be read,
   *     and then what is in the memory is undefined
   */
  public OptionalLong read(ChunkKey key, Reservation into) {
    ByteBuffer[] pieces =
        IntStream.range(0, into.pieces()).mapToObj(into::piece).toArray(ByteBuffer[]::new);
    long[] note = new long[1];
    FileId file = key.file();
    int error =
        NativeTier.read(
            tier,
            file.high(),
            file.low(),
            key.groupAndColumn(),
            key.representation(),
            pieces,
            note);
    Reference.reachabilityFence(this);
    return error == 0 ? OptionalLong.of(note[0]) : OptionalLong.empty();
  }

  /** Takes note that a chunk has come into the pool from its file. */
  public void came(ChunkKey key) {
    FileId file = key.file();
    NativeTier.came(tier, file.high(), file.low(), key.groupAndColumn(), key.representation());
    Reference.reachabilityFence(this);
  }

  /** Takes note that room was taken in the pool, so that others are about to leave it. */
  public void wake() {
    NativeTier.wake(tier);
    Reference.reachabilityFence(this);
  }

  /** Forgets a chunk. */
  public void drop(ChunkKey key) {
    FileId file = key.file();
    NativeTier.drop(tier, file.high(), file.low(), key.groupAndColumn(), key.representation());
    Reference.reachabilityFence(this);
  }

  /** Forgets the chunks of a file. */
  public void drop(FileId file) {
    NativeTier.dropFile(tier, file.high(), file.low());
    Reference.reachabilityFence(this);
  }

  /** Forgets all chunks. */
  public void clear() {
    NativeTier.clear(tier);
    Reference.reachabilityFence(this);
  }

  /** Figures since it was opened; also those of a closed one. */
  public PoolStats.Tier stats() {
    long[] figures = new long[PoolStats.Tier.COUNT];
    NativeTier.stats(tier, figures);
    Reference.reachabilityFence(this);
    return PoolStats.Tier.of(figures);
  }

  /** Empties it and gives its room on the disk back. To be called before its pool is closed. */
  @Override
  public void close() {
    hasToldOfEnd.set(true);
    NativeTier.stop(tier);
    Reference.reachabilityFence(this);
  }
}
