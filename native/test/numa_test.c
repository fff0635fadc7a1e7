/* Threads and pools that keep to memory nodes, and names of processes. The system calls go through
 * here, so that nodes can be there that are not, and refusals come. With OAP_TEST_NODE, as
 * dev/pool-vm sets it, pages are shown to lie on that node, which the test's threads do not run on
 * otherwise. */
#include "check.h"
#include "oap_numa.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
enum { PREFERRED = 1, BIND = 2, INTERLEAVE = 3 };

int __real_sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

static int refusal;      /* what each call fails with; 0: it is done */
static bool is_answered; /* policies of memory are taken down, and nothing is done */
static struct {
  long policy;
  uint64_t nodes;
  unsigned calls;
} asked;

int __wrap_sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set) {
  errno = refusal;
  return refusal != 0 ? -1 : __real_sched_setaffinity(thread, bytes, set);
}

int __wrap_socket(int domain, int type, int protocol) {
  errno = refusal;
  return refusal != 0 ? -1 : __real_socket(domain, type, protocol);
}

static void take_down(long policy, long mask, long bits) {
  CHECK(bits == 65); /* the kernel takes one off */
  asked.policy = policy;
  memcpy(&asked.nodes, (const void *)(uintptr_t)mask, sizeof(asked.nodes));
  asked.calls++;
}

long __wrap_syscall(long number, ...) {
  /* No more is read than the caller gave: what lies behind it is not the list's. */
  unsigned given = number == SYS_mbind || number == SYS_move_pages       ? 6
                   : number == SYS_set_mempolicy || number == SYS_getcpu ? 3
                                                                         : 0;
  CHECK(given != 0 || number == SYS_gettid);
  long value[6] = {0};
  va_list list;
  va_start(list, number);
  for (unsigned i = 0; i < given; i++) {
    value[i] = va_arg(list, long);
  }
  va_end(list);
  bool is_policy = number == SYS_set_mempolicy || number == SYS_mbind;
  if (number == SYS_set_mempolicy) {
    take_down(value[0], value[1], value[2]);
  } else if (number == SYS_mbind) {
    take_down(value[2], value[3], value[4]);
  }
  if (is_policy && refusal != 0) {
    errno = refusal;
    return -1;
  }
  return is_policy && is_answered
             ? 0
             : __real_syscall(number, value[0], value[1], value[2], value[3], value[4], value[5]);
}

/* ---- Threads ---- */

static void *processor_of(void *out) {
  *(int *)out = sched_getcpu();
  return NULL;
}

/* A thread goes where it is sent, and so do those that it starts; others stay free. */
static void *run_on_each_processor(void *unused) {
  cpu_set_t allowed;
  CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  for (unsigned i = 0; i < CPU_SETSIZE; i++) {
    uint64_t word[CPU_SETSIZE / 64] = {0};
    word[i / 64] = UINT64_C(1) << i % 64;
    int result = oap_numa_run_on(word, CPU_SETSIZE / 64);
    if (!CPU_ISSET(i, &allowed)) {
      CHECK(result == -EINVAL || result == 0); /* 0: the machine allows it more than it was given */
      continue;
    }
    CHECK(result == 0 && sched_getcpu() == (int)i);
    pthread_t child;
    int processor = -1;
    CHECK(pthread_create(&child, NULL, processor_of, &processor) == 0);
    CHECK(pthread_join(child, NULL) == 0 && processor == (int)i);
  }
  return unused;
}

static void threads_run_where_they_are_sent(void) {
  cpu_set_t before;
  cpu_set_t after;
  pthread_t thread;
  CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
  CHECK(pthread_create(&thread, NULL, run_on_each_processor, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(sched_getaffinity(0, sizeof(after), &after) == 0 && CPU_EQUAL(&before, &after));
  uint64_t none = 0;
  CHECK(oap_numa_run_on(&none, 1) == -EINVAL);
}

static void policies_of_threads(void) {
  is_answered = true;
  CHECK(oap_numa_allocate_on(UINT64_C(1) << 5) == 0);
  CHECK(asked.policy == PREFERRED && asked.nodes == UINT64_C(1) << 5);
  CHECK(oap_numa_allocate_on(6) == 0);
  CHECK(asked.policy == PREFERRED && asked.nodes == 0); /* where the thread runs */
  is_answered = false;
}

static void refusals_come_through(void) {
  const int errors[] = {EPERM, ENOSYS, EINVAL};
  for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
    refusal = errors[i];
    uint64_t first = 1;
    CHECK(oap_numa_run_on(&first, 1) == -errors[i]);
    CHECK(oap_numa_allocate_on(1) == -errors[i]);
    CHECK(oap_numa_take_name("oap-test") == -errors[i]);
    refusal = 0;
  }
}

/* ---- Names ---- */

static void names(void) {
  char name[64];
  snprintf(name, sizeof(name), "oap-numa-test/%d", (int)getpid());
  int file = oap_numa_take_name(name);
  CHECK(file >= 0 && oap_numa_take_name(name) == -EADDRINUSE);
  CHECK(close(file) == 0);
  int told[2];
  CHECK(pipe(told) == 0);
  pid_t child = check_fork();
  if (child == 0) {
    CHECK(oap_numa_take_name(name) >= 0 && write(told[1], "x", 1) == 1);
    pause();
  }
  char byte;
  CHECK(read(told[0], &byte, 1) == 1);
  CHECK(oap_numa_take_name(name) == -EADDRINUSE);
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
  file = oap_numa_take_name(name);
  CHECK(file >= 0);
  CHECK(close(file) == 0 && close(told[0]) == 0 && close(told[1]) == 0);
  char longest[109];
  memset(longest, 'n', sizeof(longest));
  longest[108] = 0;
  CHECK(oap_numa_take_name(longest) == -EINVAL);
  file = oap_numa_take_name(longest + 1);
  CHECK(file >= 0 && close(file) == 0);
}

/* ---- Pools ---- */

static int opens(enum oap_medium medium, uint64_t nodes, bool interleave) {
  oap_options options = {.capacity = 16 * MIB,
                         .medium = medium,
                         .nodes = nodes,
                         .interleave = interleave,
                         .shards = 1};
  oap_pool *pool;
  asked.calls = 0;
  int error = oap_pool_open(&options, &pool);
  if (error == 0) {
    unsigned calls = asked.calls;
    CHECK(oap_pool_resize(pool, 32 * MIB) == 0);
    CHECK((asked.calls > calls) == (calls > 0)); /* what it grows by, too */
    pool_close(pool);
  }
  return error;
}

/* Memory that prefers nodes may lie elsewhere; memory of nodes may not. */
static void policies_of_pools(void) {
  is_answered = true;
  CHECK(opens(OAP_DRAM, 0, false) == 0 && asked.calls == 0);
  CHECK(opens(OAP_DRAM, 2, false) == 0 && asked.policy == PREFERRED && asked.nodes == 2);
  CHECK(opens(OAP_DRAM, 6, false) == 0 && asked.policy == INTERLEAVE && asked.nodes == 6);
  CHECK(opens(OAP_NODE, 1, false) == 0 && asked.policy == BIND && asked.nodes == 1);
  CHECK(opens(OAP_NODE, 1, true) == 0 && asked.policy == INTERLEAVE && asked.nodes == 1);
  is_answered = false;
  refusal = EPERM;
  CHECK(opens(OAP_DRAM, 1, false) == -EPERM);
  refusal = 0;
}

/* ---- Pages, on a machine with several nodes ---- */

static void processors_of(unsigned node, cpu_set_t *set) {
  char path[64];
  unsigned first;
  snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
  FILE *file = fopen(path, "re");
  CHECK(file != NULL && fscanf(file, "%u", &first) == 1 && fclose(file) == 0);
  CPU_ZERO(set);
  CPU_SET(first, set);
}

static uint64_t pages_on(unsigned node, unsigned char *data, uint64_t bytes) {
  uint64_t count = 0;
  for (uint64_t at = 0; at < bytes; at += 4096) {
    void *page = data + at;
    int found;
    CHECK(__real_syscall(SYS_move_pages, 0L, 1L, &page, NULL, &found, 0L) == 0);
    count += found == (int)node;
  }
  return count;
}

static unsigned char *touched(uint64_t bytes) {
  unsigned char *data =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(data != MAP_FAILED);
  memset(data, 1, bytes);
  return data;
}

static void lies_on(unsigned node) {
  cpu_set_t set;
  unsigned char *data;
  /* The pool's pages lie there also when another node's processor touches them. */
  processors_of(1 - node, &set);
  CHECK(oap_numa_run_on((const uint64_t *)&set, CPU_SETSIZE / 64) == 0);
  oap_options options = {.capacity = 64 * MIB, .nodes = UINT64_C(1) << node, .shards = 1};
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  for (uint32_t i = 0; i < 60; i++) {
    oap_key key = key_numbered(1, i, 0);
    CHECK(chunk_put(pool, &key, MIB) == 0);
  }
  uint64_t bytes[OAP_MOST_NODES];
  CHECK(oap_pool_nodes(pool, bytes) == 0);
  printf("pool: %llu MiB on node %u, %llu MiB on node %u\n", (unsigned long long)bytes[node] >> 20,
         node, (unsigned long long)bytes[1 - node] >> 20, 1 - node);
  CHECK(bytes[node] >= 60 * MIB && bytes[1 - node] == 0);
  pool_close(pool);
  data = touched(8 * MIB);
  CHECK(pages_on(node, data, 8 * MIB) == 0);
  CHECK(oap_numa_allocate_on(UINT64_C(1) << node) == 0); /* the policy alone */
  data = touched(8 * MIB);
  CHECK(pages_on(node, data, 8 * MIB) == 8 * MIB / 4096);
  CHECK(oap_numa_allocate_on(3) == 0);
  processors_of(node, &set); /* the processor alone */
  CHECK(oap_numa_run_on((const uint64_t *)&set, CPU_SETSIZE / 64) == 0);
  data = touched(8 * MIB);
  CHECK(pages_on(node, data, 8 * MIB) == 8 * MIB / 4096);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  threads_run_where_they_are_sent();
  policies_of_threads();
  refusals_come_through();
  names();
  policies_of_pools();
  if (getenv("OAP_TEST_NODE") != NULL && *getenv("OAP_TEST_NODE") != 0) {
    lies_on((unsigned)strtoul(getenv("OAP_TEST_NODE"), NULL, 10));
  }
  return 0;
}
