package io.oap.cache.pool;

/** The pool could not do what was asked; the message says what, where and what to do. */
public final class PoolException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final int errno;

  public PoolException(int errno, String message) {
    super(message);
    this.errno = errno;
  }

  PoolException(int errno, String message, Throwable cause) {
    super(message, cause);
    this.errno = errno;
  }

  /** The system's error number (Linux), or 0 when the fault was not the system's. */
  public int errno() {
    return errno;
  }

  /** Puts an error number of the system into words, in brackets, for the end of a message. */
  public static String reason(int error) {
    return " (" + NativePool.errorText(error) + ", errno " + error + ")";
  }

  /** Makes the exception for an answer of the native pool that only a defect can cause. */
  static PoolException defect(String what, int error) {
    return new PoolException(
        error,
        "The pool cannot " + what + reason(error) + "; this is a defect of OAP, please report it");
  }
}
