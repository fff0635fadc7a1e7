/* See home.h. */
#include "home.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[256];

static void remove_directory(void) {
  char inner[300];
  home_clear();
  snprintf(inner, sizeof(inner), "%s/oap-%u", directory, (unsigned)geteuid());
  rmdir(inner);
  rmdir(directory);
}

const char *home_directory(void) {
  if (directory[0] == 0) {
    const char *given = getenv("OAP_TEST_PATH");
    const char *parent = given != NULL                   ? given
                         : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                         : "/var/tmp";
    snprintf(directory, sizeof(directory), "%s/oap-home-XXXXXX", parent);
    CHECK(mkdtemp(directory) != NULL);
    CHECK(atexit(remove_directory) == 0);
  }
  return directory;
}

static DIR *open_inner(char path[300]) {
  snprintf(path, 300, "%s/oap-%u", home_directory(), (unsigned)geteuid());
  return opendir(path);
}

void home_clear(void) {
  char path[300];
  DIR *list = open_inner(path);
  if (list == NULL) {
    return;
  }
  for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
    unlinkat(dirfd(list), entry->d_name, 0);
  }
  closedir(list);
}

unsigned home_count(const char *ending) {
  char path[300];
  unsigned count = 0;
  DIR *list = open_inner(path);
  CHECK(list != NULL);
  for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
    const char *dot = strrchr(entry->d_name, '.');
    count += dot != NULL && strcmp(dot, ending) == 0;
  }
  closedir(list);
  return count;
}

oap_options home_options(uint64_t capacity) {
  static const char *path;
  path = home_directory();
  const char *medium = getenv("OAP_TEST_MEDIUM");
  return (oap_options){
      .capacity = capacity,
      .medium = medium != NULL && strcmp(medium, "fsdax") == 0 ? OAP_FSDAX : OAP_FILE,
      .paths = &path,
      .path_count = 1,
      .reopen = true,
      .keep_seconds = 3600,
      .shards = 1,
  };
}

bool home_open(const oap_options *options, oap_pool **pool) {
  CHECK(oap_pool_open(options, pool) == 0);
  CHECK_VALID(*pool);
  const oap_origin *origin = oap_pool_origin(*pool);
  oap_stats stats;
  oap_pool_stats(*pool, &stats);
  CHECK(stats.chunks == origin->chunks && stats.pinned_chunks == 0);
  CHECK(origin->is_reopened || origin->chunks == 0);
  return origin->is_reopened;
}

void home_run_and_kill(void (*run)(void *), void *argument, volatile uint64_t *is_working,
                       unsigned microseconds) {
  *is_working = 0;
  pid_t child = check_fork();
  if (child == 0) {
    run(argument);
    _exit(3);
  }
  int status;
  while (*is_working == 0) {
    CHECK(waitpid(child, &status, WNOHANG) == 0);
    usleep(20);
  }
  usleep(microseconds);
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

const char *home_file(const oap_pool *pool, const char *ending) {
  static char path[600];
  snprintf(path, sizeof(path), "%s%s", oap_pool_origin(pool)->home, ending);
  return path;
}
