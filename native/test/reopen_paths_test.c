/* A pool that was left in several paths, when others come with other paths: it is not theirs, and
 * goes from all of its paths once nobody has used it for long. */
#include "home.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)

static char directories[2][300];
static const char *both[] = {directories[0], directories[1]};
static const char *reversed[] = {directories[1], directories[0]};

static oap_options options_of(const char *const *paths, uint32_t count) {
  oap_options options = home_options(CAPACITY);
  options.paths = paths;
  options.path_count = count;
  return options;
}

/* How many files of a home there are in both directories. */
static unsigned files_of(const char *name) {
  unsigned count = 0;
  for (int i = 0; i < 2; i++) {
    char path[640];
    snprintf(path, sizeof(path), "%s/oap-%u", directories[i], (unsigned)geteuid());
    DIR *list = opendir(path);
    CHECK(list != NULL);
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
      count += strncmp(entry->d_name, name, strlen(name)) == 0;
    }
    closedir(list);
  }
  return count;
}

static void remove_all(void) {
  char command[1300];
  snprintf(command, sizeof(command), "rm -rf '%s' '%s'", directories[0], directories[1]);
  CHECK(system(command) == 0);
}

/* Leaves a pool in both, and opens one with those paths. */
static void comes_with(const char *const *paths, uint32_t count) {
  for (int i = 0; i < 2; i++) {
    snprintf(directories[i], sizeof(directories[i]), "%s/%d", home_directory(), i);
    CHECK(mkdir(directories[i], 0700) == 0);
  }
  oap_options left = options_of(both, 2);
  oap_options other = options_of(paths, count);
  oap_pool *pool, *next;
  CHECK(!home_open(&left, &pool));
  char name[64];
  snprintf(name, sizeof(name), "%.32s", strrchr(oap_pool_origin(pool)->home, '/') + 1);
  CHECK(files_of(name) == 3);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 1000) == 0);
  other.keep_seconds = 0;
  CHECK(!home_open(&other, &next) && files_of(name) == 3); /* it is in use */
  pool_close(next);
  pool_close(pool);
  other.keep_seconds = 3600;
  home_open(&other, &next);
  CHECK(files_of(name) == 3 && !oap_pool_is_held(next, &key));
  pool_close(next);
  CHECK(home_open(&left, &pool) && oap_pool_is_held(pool, &key));
  pool_close(pool);
  other.keep_seconds = 0;
  home_open(&other, &next);
  CHECK(files_of(name) == 0);
  pool_close(next);
  remove_all();
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  comes_with(reversed, 2);
  comes_with(both, 1);
  return 0;
}
