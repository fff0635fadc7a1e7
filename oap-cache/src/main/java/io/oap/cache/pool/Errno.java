package io.oap.cache.pool;

/** The error numbers of Linux that the pool answers with; the same on x86-64 and aarch64. */
final class Errno {
  static final int EPERM = 1;
  static final int ENOENT = 2;
  static final int EIO = 5;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int EBUSY = 16;
  static final int EEXIST = 17;
  static final int ENODEV = 19;
  static final int ENOTDIR = 20;
  static final int EINVAL = 22;
  static final int EMFILE = 24;
  static final int EFBIG = 27;
  static final int ENOSPC = 28;
  static final int EOPNOTSUPP = 95;
  static final int ESHUTDOWN = 108;
  static final int EINPROGRESS = 115;

  private Errno() {}
}
