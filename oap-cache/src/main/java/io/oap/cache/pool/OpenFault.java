package io.oap.cache.pool;

/** Why a pool could not be opened or resized, in words for the person who configured it. */
final class OpenFault {
  private OpenFault() {}

  /** Says what is wrong and what to do about it. */
  static String text(PoolOptions options, int error) {
    return "Cannot open a pool of "
        + options.capacityBytes()
        + " bytes in "
        + options.place()
        + ": "
        + advice(options, error)
        + PoolException.reason(error);
  }

  private static String advice(PoolOptions options, int error) {
    return switch (error) {
      case Errno.ENOSPC ->
          "there is no room for it; choose a smaller size or another path. Pools that other"
              + " executors have, or that another user has left, lie in oap-<user id> there";
      case Errno.ENOMEM ->
          options.medium() == Medium.NODE
              ? "a node has not that much memory free; choose a smaller size or more nodes"
              : "there is not that much memory; choose a smaller size";
      case Errno.EINVAL ->
          options.medium() == Medium.NODE || options.nodes() != 0
              ? "a node does not exist or has no memory, or the size is below 64 KiB on each"
              : "the size is below 64 KiB in each part, or there is no policy " + options.policy();
      case Errno.ENOTDIR, Errno.ENOENT ->
          "each path must be a directory (for devdax, a device) that exists";
      case Errno.EOPNOTSUPP ->
          options.medium() == Medium.FSDAX
              ? "it is no DAX file system; mount one with dax, or use the medium file"
              : "its file system writes every block anew, so that no room can be reserved on it;"
                  + " choose a path on another, such as ext4 or xfs";
      case Errno.EIO ->
          "the persistent memory has bad blocks that cannot be left out; clear them (ndctl"
              + " clear-errors), or, for devdax, let this user read the device's address";
      case Errno.ENODEV -> "each path must be a DAX device such as /dev/dax0.0";
      case Errno.EBUSY ->
          "another pool, of this process or another, lies on one of the devices; give each"
              + " executor devices of its own, or run one executor on each host";
      case Errno.EPERM ->
          options.nodes() != 0
              ? "the system forbids binding memory to nodes, as containers do without SYS_NICE"
              : options.keepSeconds() > 0
                  ? "the directory oap-<user id> in a path must belong to this user alone; remove it"
                  : "this user must be able to read and write there";
      case Errno.EACCES -> "this user must be able to read and write there";
      case Errno.EUSERS ->
          "16 processes share it already; run fewer executors on a host, or give some another"
              + " path";
      case Errno.ETIMEDOUT ->
          "another process has kept it for minutes; look whether it has been stopped";
      case Errno.EMFILE -> "the process has too many files open";
      default -> "the system refused it";
    };
  }

  /** Says why the pool stays as it is. */
  static String resizeText(long bytes, int error) {
    String advice =
        switch (error) {
          case Errno.EINVAL -> "that is less than 64 KiB in each of its parts";
          case Errno.EFBIG ->
              "a pool grows to eight times what it was opened with, and no further than its"
                  + " devices, file systems and address space go; open one of that size instead";
          case Errno.ENOSPC -> "there is no room for it on a path";
          case Errno.ENOMEM -> "there is not that much memory, or not on its nodes";
          case Errno.ESHUTDOWN -> "it is closed";
          case Errno.EOPNOTSUPP -> "processes share it, and it keeps the size they opened it with";
          default -> "the system refused it";
        };
    return "Cannot resize the pool to " + bytes + " bytes: " + advice + PoolException.reason(error);
  }
}
