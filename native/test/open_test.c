/* Pools that cannot be opened are refused, with the right error and without harm. */
#include "arena/arena.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)

static int opens(oap_options options) {
  oap_pool *pool = NULL;
  int result = oap_pool_open(&options, &pool);
  if (result == 0) {
    pool_close(pool);
  } else {
    CHECK(pool == NULL);
  }
  return result;
}

static int opens_in(enum oap_medium medium, uint64_t capacity, const char *path) {
  return opens(
      (oap_options){.capacity = capacity, .medium = medium, .paths = &path, .path_count = 1});
}

static void sizes_that_cannot_be(void) {
  const uint64_t small[] = {0, 1, 4096, OAP_LEAST_CAPACITY - 1};
  for (int i = 0; i < 4; i++) {
    CHECK(opens((oap_options){.capacity = small[i]}) == -EINVAL);
    CHECK(opens_in(OAP_FILE, small[i], "/dev/shm") == -EINVAL);
  }
  const uint64_t large[] = {UINT64_MAX,        UINT64_MAX - 4096,
                            UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1,
                            UINT64_C(1) << 60, UINT64_C(1) << 47};
  for (int i = 0; i < (check_is_memcheck() ? 5 : 6); i++) {
    CHECK(opens((oap_options){.capacity = large[i]}) == -ENOMEM);
  }
  CHECK(opens((oap_options){.capacity = OAP_LEAST_CAPACITY}) == 0);
  CHECK(opens((oap_options){.capacity = OAP_LEAST_CAPACITY + 4095}) == 0);
}

static void options_that_contradict(void) {
  const char *shm = "/dev/shm";
  CHECK(opens((oap_options){.capacity = CAPACITY, .policy = "none"}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 3}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 128}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 32}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 16}) == 0);
  CHECK(opens((oap_options){.capacity = CAPACITY, .paths = &shm, .path_count = 1}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .medium = OAP_FILE}) == -EINVAL);
  CHECK(
      opens((oap_options){
          .capacity = CAPACITY, .medium = OAP_FILE, .paths = &shm, .path_count = 1, .nodes = 1}) ==
      -EINVAL);
}

/* The error of a user who owns nothing; root may write anywhere, so it gives up its rights first.
 */
static int as_nobody(enum oap_medium medium, const char *path) {
  enum { NOBODY = 65534 };
  pid_t child = check_fork();
  if (child == 0) {
    bool is_other = geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    _exit(is_other ? -opens_in(medium, CAPACITY, path) : 0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void places_that_cannot_be(void) {
  char directory[] = "/tmp/oap-fault-XXXXXX";
  char name[64];
  CHECK(mkdtemp(directory) != NULL);
  snprintf(name, sizeof(name), "%s/file", directory);
  FILE *file = fopen(name, "w");
  CHECK(file != NULL && fclose(file) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, name) == -ENOTDIR);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENODEV);
  int held = open(name, O_RDWR | O_CLOEXEC); /* as another pool would hold a device */
  CHECK(held >= 0 && flock(held, LOCK_EX) == 0);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -EBUSY);
  CHECK(flock(held, LOCK_UN) == 0);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENODEV);
  CHECK(flock(held, LOCK_EX | LOCK_NB) == 0 && close(held) == 0); /* a refusal leaves no lock */
  CHECK(unlink(name) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, name) == -ENOENT);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENOENT);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, "/dev/null") == -ENODEV);
  CHECK(opens_in(OAP_FSDAX, CAPACITY, "/dev/shm") == -EOPNOTSUPP);
  /* More than there is, and not more than ThreadSanitizer has addresses for. */
  CHECK(opens_in(OAP_FILE, UINT64_C(1) << 39, "/dev/shm") == -ENOSPC);
  CHECK(opens_in(OAP_FILE, CAPACITY, "/dev/shm") == 0);
  CHECK(chmod(directory, 0500) == 0);
  CHECK(as_nobody(OAP_FILE, directory) == EACCES);
  CHECK(rmdir(directory) == 0); /* nothing was left in it */
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, "/dev/shm") == -EMFILE);
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* An arena as on a device, made by hand of a file, since few machines have a device. */
static void locks_of_arenas(void) {
  char name[] = "/tmp/oap-fault-XXXXXX";
  int other = mkostemp(name, O_CLOEXEC);
  CHECK(other >= 0);
  for (int retire = 0; retire < 2; retire++) {
    oap_arena arena;
    oap_options options = {.medium = OAP_DRAM};
    CHECK(oap_arena_open(&arena, &options, 0, 1, -1, CAPACITY, CAPACITY) == 0 && arena.file == -1);
    arena.file = open(name, O_RDWR | O_CLOEXEC);
    CHECK(arena.file >= 0 && flock(arena.file, LOCK_EX | LOCK_NB) == 0);
    int in_a_child = dup(arena.file);
    CHECK(flock(other, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    CHECK(retire == 0 || oap_arena_empty(&arena) == 0);
    CHECK((flock(other, LOCK_EX | LOCK_NB) == 0) == (retire == 1));
    oap_arena_close(&arena);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == 0 && flock(other, LOCK_UN) == 0);
    CHECK(close(in_a_child) == 0);
  }
  CHECK(close(other) == 0 && unlink(name) == 0);
}

static void nodes(void) {
  /* Kernels without NUMA know neither nodes nor the call. */
  int own = opens((oap_options){.capacity = CAPACITY, .medium = OAP_NODE});
  CHECK(own == 0 || own == -ENOSYS || own == -EPERM);
  if (own == 0) {
    CHECK(opens((oap_options){.capacity = CAPACITY, .medium = OAP_NODE, .nodes = 1}) == 0);
    CHECK(opens((oap_options){
              .capacity = CAPACITY, .medium = OAP_NODE, .nodes = 1, .interleave = true}) == 0);
    CHECK(opens((oap_options){
              .capacity = CAPACITY, .medium = OAP_NODE, .nodes = UINT64_C(1) << 63}) == -EINVAL);
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  sizes_that_cannot_be();
  options_that_contradict();
  places_that_cannot_be();
  locks_of_arenas();
  nodes();
  return 0;
}
