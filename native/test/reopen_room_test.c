/* Pools that nobody uses any more make room for the next one. */
#include "home.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)
#define BYTES UINT64_C(30000)

/* Opens a pool with a chunk and leaves it to the next one. */
static void leave(const oap_options *options) {
  oap_pool *pool;
  oap_key key = key_numbered(0, 0, 1);
  home_open(options, &pool);
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  pool_close(pool);
}

/* Where an old one leaves no room for a pool, it goes. */
static void old_ones_make_room(void) {
  oap_options options = home_options(UINT64_C(1) << 46);
  oap_pool *pool;
  home_clear();
  oap_options small = home_options(CAPACITY);
  leave(&small);
  int error = oap_pool_open(&options, &pool);
  CHECK(error == -ENOSPC || error == -EFBIG || error == -ENOMEM);
  CHECK(home_count(".meta") == (error == -ENOSPC ? 0 : 1));
}

/* Also for a pool that does not go on with old ones, which makes no directory for them. */
static void old_ones_make_room_for_others(void) {
  oap_options options = home_options(UINT64_C(1) << 46);
  oap_pool *pool, *used;
  home_clear();
  oap_options small = home_options(CAPACITY);
  leave(&small);
  small.capacity *= 2;
  home_open(&small, &used);
  CHECK(home_count(".meta") == 2);
  options.reopen = false;
  int error = oap_pool_open(&options, &pool);
  CHECK(error == -ENOSPC || error == -EFBIG || error == -ENOMEM);
  CHECK(home_count(".meta") == (error == -ENOSPC ? 1 : 2));
  oap_key key = key_numbered(1, 1, 1);
  CHECK(chunk_put(used, &key, BYTES) == 0);
  pool_close(used);
  char directory[300];
  snprintf(directory, sizeof(directory), "%s/oap-%u", home_directory(), (unsigned)geteuid());
  home_clear();
  CHECK(rmdir(directory) == 0);
  CHECK(oap_pool_open(&options, &pool) == error);
  CHECK(access(directory, F_OK) != 0);
}

int __real_fstatvfs(int file, struct statvfs *system);
int __wrap_fstatvfs(int file, struct statvfs *system);

static bool is_disk;
static uint64_t room; /* on the disk, in bytes */

int __wrap_fstatvfs(int file, struct statvfs *system) {
  int result = __real_fstatvfs(file, system);
  if (is_disk) {
    system->f_blocks = 2 * CAPACITY / system->f_frsize;
    system->f_bavail = room / system->f_frsize;
  }
  return result;
}

/* A disk that two pools do not fit on, where no file may be so long that the pool could grow to
 * eight times its size. */
static void no_room_for_two_and_no_long_files(void) {
  oap_options options = home_options(CAPACITY);
  struct rlimit before, longest;
  home_clear();
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  longest = before;
  longest.rlim_cur = 4 * CAPACITY;
  CHECK(setrlimit(RLIMIT_FSIZE, &longest) == 0);
  is_disk = true;
  room = CAPACITY + CAPACITY / 2;
  leave(&options);
  room -= CAPACITY;
  oap_pool *pool;
  CHECK(home_open(&options, &pool) && oap_pool_origin(pool)->chunks == 1);
  pool_close(pool);
  room = 0; /* one of another size goes, as elsewhere */
  options.capacity = 3 * CAPACITY;
  CHECK(oap_pool_open(&options, &pool) == -ENOSPC && home_count(".meta") == 0);
  is_disk = false;
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  old_ones_make_room();
  old_ones_make_room_for_others();
  no_room_for_two_and_no_long_files();
  return 0;
}
