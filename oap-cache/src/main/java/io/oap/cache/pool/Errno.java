package io.oap.cache.pool;

/** The error numbers of Linux that the pool answers with; the same on x86-64 and aarch64. */
public final class Errno {
  public static final int EPERM = 1;
  public static final int ENOENT = 2;
  public static final int EIO = 5;
  public static final int ENOMEM = 12;
  public static final int EACCES = 13;
  public static final int EBUSY = 16;
  public static final int EEXIST = 17;
  public static final int ENODEV = 19;
  public static final int ENOTDIR = 20;
  public static final int EINVAL = 22;
  public static final int EMFILE = 24;
  public static final int EFBIG = 27;
  public static final int ENOSPC = 28;
  public static final int EUSERS = 87;
  public static final int EOPNOTSUPP = 95;
  public static final int EADDRINUSE = 98;
  public static final int ESHUTDOWN = 108;
  public static final int ETIMEDOUT = 110;
  public static final int EINPROGRESS = 115;

  private Errno() {}
}
