package io.oap.cache.vector;

import io.oap.cache.pool.NativeLibrary;
import io.oap.cache.pool.PoolException;

/** A vector chunk could not be made or read; the message says why. */
public final class VectorException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private static final int ENOMEM = 12;
  private static final int EINVAL = 22;
  private static final int EFBIG = 27;
  private static final int EBADMSG = 74;

  private final int errno;

  private VectorException(int errno, String message, Throwable cause) {
    super(message, cause);
    this.errno = errno;
  }

  /** The system's error number (Linux), or 0 when there is no native library. */
  public int errno() {
    return errno;
  }

  /** Whether the bytes are no vector chunk that this version can read: drop it and load again. */
  public boolean isCorrupt() {
    return errno == EBADMSG;
  }

  /** Whether the values are too many or too long for a vector chunk: keep the encoded one. */
  public boolean isTooLarge() {
    return errno == EFBIG;
  }

  /** Loads the native library, if that has not been done. */
  static void ensureLoaded() {
    try {
      NativeLibrary.ensureLoaded();
    } catch (PoolException e) {
      throw new VectorException(0, e.getMessage(), e);
    }
  }

  /** The result of a native call, unless it is an error. */
  static int check(int result) {
    if (result < 0) {
      throw of(-result);
    }
    return result;
  }

  /** Returns a length or an address, unless it is an error. */
  static long check(long result) {
    if (result < 0) {
      throw of((int) -result);
    }
    return result;
  }

  private static VectorException of(int errno) {
    String what =
        switch (errno) {
          case ENOMEM -> "there is no memory for a vector chunk";
          case EINVAL -> "a vector chunk was asked for something it does not have or take";
          case EFBIG -> "too many or too long values for a vector chunk";
          case EBADMSG -> "the bytes are no vector chunk of this version";
          default -> "a vector chunk failed";
        };
    return new VectorException(errno, what + " (errno " + errno + ")", null);
  }
}
