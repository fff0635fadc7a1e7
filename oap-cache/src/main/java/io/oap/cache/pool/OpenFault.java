package io.oap.cache.pool;

/** Why a pool could not be opened, in words for the person who configured it. */
final class OpenFault {
  private OpenFault() {}

  /** Says what is wrong and what to do about it. */
  static String text(PoolOptions options, int error) {
    String advice =
        switch (error) {
          case Errno.ENOSPC -> "there is no room for it; choose a smaller size or another path";
          case Errno.ENOMEM -> "there is not that much memory; choose a smaller size";
          case Errno.EINVAL ->
              options.medium() == Medium.NODE
                  ? "a node does not exist or has no memory, or the size is below 64 KiB on each"
                  : "the size is below 64 KiB in each part, or there is no policy "
                      + options.policy();
          case Errno.ENOTDIR, Errno.ENOENT ->
              "each path must be a directory (for devdax, a device) that exists";
          case Errno.EOPNOTSUPP ->
              "it is no DAX file system; mount one with dax, or use the medium file";
          case Errno.ENODEV -> "each path must be a DAX device such as /dev/dax0.0";
          case Errno.EBUSY ->
              "another pool, of this process or another, lies on one of the devices; give each"
                  + " executor devices of its own, or run one executor on each host";
          case Errno.EACCES, Errno.EPERM -> "this user must be able to read and write there";
          case Errno.EMFILE -> "the process has too many files open";
          default -> "the system refused it";
        };
    return "Cannot open a pool of "
        + options.capacityBytes()
        + " bytes in "
        + options.place()
        + ": "
        + advice
        + ColumnPool.reason(error);
  }
}
