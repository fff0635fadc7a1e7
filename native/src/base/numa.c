/* Threads on memory nodes, and names of processes: see oap_numa.h. */
#include "oap_numa.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { POLICY_PREFERRED = 1 }; /* from linux/mempolicy.h, which not every system has */

int oap_numa_run_on(const uint64_t *processors, uint32_t words) {
  _Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "sets of processors are of words");
  return sched_setaffinity(0, words * sizeof(*processors), (const cpu_set_t *)processors) == 0
             ? 0
             : -errno;
}

int oap_numa_allocate_on(uint64_t nodes) {
  /* Without a node this policy is: where the thread runs. It stands in for POLICY_PREFERRED_MANY,
   * which needs Linux 5.15. */
  unsigned long mask = (nodes & (nodes - 1)) == 0 ? (unsigned long)nodes : 0;
  /* One more than the bits that count: the kernel takes one off. */
  return syscall(SYS_set_mempolicy, POLICY_PREFERRED, &mask, sizeof(mask) * 8 + 1) == 0 ? 0
                                                                                        : -errno;
}

int oap_numa_take_name(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the first byte 0: an abstract name */
  size_t length = strlen(name);
  if (length >= sizeof(address.sun_path)) {
    return -EINVAL;
  }
  memcpy(address.sun_path + 1, name, length);
  int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) {
    return -errno;
  }
  size_t all = offsetof(struct sockaddr_un, sun_path) + 1 + length;
  if (bind(file, (const struct sockaddr *)&address, (socklen_t)all) != 0) {
    int error = -errno;
    close(file);
    return error;
  }
  return file;
}
