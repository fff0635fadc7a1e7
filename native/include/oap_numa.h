/* Keeping threads to memory nodes, and names by which the processes of a host know of each other.
 */
#ifndef OAP_NUMA_H
#define OAP_NUMA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Has the calling thread run on these processors only; bit n of the words is processor n. Memory
 * that it touches first then lies on their nodes, and threads that it starts inherit this. EINVAL:
 * the process may use none of them; EPERM: forbidden, as seccomp may do; see sched_setaffinity(2).
 */
int oap_numa_run_on(const uint64_t *processors, uint32_t words);

/* Has memory that the calling thread touches first lie on these nodes, whatever policy it has
 * inherited: on the one, or, of several, on that of the processor it runs on. Memory comes from
 * other nodes when that one is full, so that nothing is killed for it. Bit n is node n. EINVAL: the
 * process may have no memory there; EPERM: forbidden, as in many containers; ENOSYS: a kernel
 * without nodes; see set_mempolicy(2). */
int oap_numa_allocate_on(uint64_t nodes);

/* Takes a name in the network namespace, until it is given back with close(2) or the process ends,
 * however that ends: an abstract socket of that name (unix(7)), which /proc/net/unix lists. Returns
 * a file descriptor, or a negative errno. EADDRINUSE: another process has it, or this one;
 * EINVAL: the name is too long. */
int oap_numa_take_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
