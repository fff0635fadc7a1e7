/* Homes of pools: see home.h. */
#include "home.h"

#include "arena/arena_parts.h"
#include "base/arithmetic.h"
#include "home_files.h"
#include "home_judge.h"
#include "home_shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEARTBEAT_MS 60000

static void read_boot(char boot[40]) {
  memset(boot, 0, 40);
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file != NULL) {
    if (fgets(boot, 40, file) == NULL) {
      boot[0] = 0;
    }
    fclose(file);
  }
}

static int map_header(oap_home *home, int meta) {
  void *header = mmap(NULL, OAP_HOME_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, meta, 0);
  if (header == MAP_FAILED) {
    return -errno;
  }
  home->header = header;
  home->meta = meta;
  return 0;
}

/* Opens the files of chunks. False: they are not there, or have been cut. */
static bool open_data(oap_home *home, const oap_directories *all, const char *name,
                      const oap_home_shape *shape) {
  uint64_t bytes = shape->stripe * shape->shards;
  for (uint32_t i = 0; i < all->count; i++) {
    struct stat status;
    home->data[i] = oap_home_file(all->fd[i], name, ".data", 0);
    if (home->data[i] < 0 || fstat(home->data[i], &status) != 0 ||
        (uint64_t)status.st_size < bytes) {
      return false;
    }
    uint64_t blocks = (uint64_t)status.st_blocks * 512;
    if (blocks < atomic_load(&home->header->part) * shape->shards) { /* a copy may have holes */
      home->full = 0;
    }
  }
  return true;
}

static void close_data(oap_home *home) {
  for (uint32_t i = 0; i < OAP_MAX_PATHS; i++) {
    if (home->data[i] >= 0) {
      close(home->data[i]);
      home->data[i] = -1;
    }
  }
}

static void unmap_header(oap_home *home) {
  munmap(home->header, OAP_HOME_HEADER);
  home->header = NULL;
  home->meta = -1;
}

/* What search looks for, and with what right it removes. */
typedef struct {
  oap_home *home; /* gets what is found; NULL: nothing is wanted */
  const oap_options *options;
  const oap_directories *all;
  const oap_home_shape *shape;
  uint32_t keep_seconds;
  uint32_t removed;
  char name[OAP_HOME_NAME]; /* of what was found */
} search;

/* Takes a home over whose .meta file is locked, or joins those who have it; false: it cannot be,
 * and why is noted. */
static bool take_over(search *s, int meta, const char *name) {
  oap_home *home = s->home;
  const char *fault = oap_home_judge(meta, s->shape);
  if (fault == NULL && !home->is_joined) {
    fault = oap_home_judge_table(meta, s->shape);
  }
  if (fault == NULL && map_header(home, meta) != 0) {
    fault = "it cannot be mapped";
  }
  if (fault == NULL) {
    char boot[40];
    read_boot(boot);
    /* A failure of power takes room away that no journal has noted yet; bad blocks of persistent
     * memory are looked for anew. */
    bool is_sure = s->options->medium != OAP_FSDAX && boot[0] != 0 &&
                   memcmp(boot, home->header->boot, sizeof(boot)) == 0;
    home->full = is_sure || home->is_joined ? atomic_load(&home->header->part) : 0;
    if (open_data(home, s->all, name, s->shape)) {
      memcpy(home->header->boot, boot, sizeof(boot));
      memcpy(s->name, name, OAP_HOME_NAME);
      return true;
    }
    close_data(home);
    unmap_header(home);
    fault = "its file of chunks is missing or damaged";
  }
  home->origin.unusable = fault;
  return false;
}

/* Joins those who have the home of an open .meta file, if it is one to share. */
static bool join(search *s, int meta, const char *name) {
  oap_home *home = s->home;
  bool is_wanted = home != NULL && home->is_shared && home->header == NULL;
  if (!is_wanted || oap_home_judge(meta, s->shape) != NULL || oap_home_share(meta) != 0) {
    return false;
  }
  home->is_joined = oap_home_has_name(meta); /* which take_over asks */
  home->is_joined = home->is_joined && take_over(s, meta, name);
  return home->is_joined;
}

/* Takes over or removes the home of an open .meta file. One that lies in another path than the
 * first was made with other paths. False: the file is to be closed. Takes no lock in vain: another
 * process would believe that the home is in use. */
static bool look_at(search *s, int meta, const char *name, bool is_in_first) {
  if (oap_home_is_in_use(meta)) {
    return is_in_first && join(s, meta, name);
  }
  bool is_wanted = is_in_first && s->home != NULL && s->home->header == NULL;
  const char *fault = is_wanted ? oap_home_judge(meta, s->shape) : NULL;
  bool fits = is_wanted && fault == NULL;
  bool is_expired = oap_home_is_expired(meta, s->keep_seconds);
  if (fault != NULL) {
    s->home->origin.unusable = fault;
  }
  if ((!fits && !is_expired) || !oap_home_take(meta)) {
    return false;
  }
  if (fits && take_over(s, meta, name)) {
    return true;
  }
  if (is_expired) {
    oap_home_remove_noted(meta, name, OAP_HOME_PATHS, OAP_HOME_HEADER - OAP_HOME_PATHS);
    oap_home_remove(s->all, name);
    s->removed++;
  }
  oap_home_unlock(meta);
  return true;
}

/* Goes over the homes of one path. */
static void search_in(search *s, uint32_t path) {
  int directory = s->all->fd[path];
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (list == NULL) {
    if (copy >= 0) {
      close(copy);
    }
    return;
  }
  for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
    char name[OAP_HOME_NAME];
    int meta =
        oap_home_is_meta(entry->d_name, name) ? oap_home_file(directory, name, ".meta", 0) : -1;
    if (meta >= 0 && !look_at(s, meta, name, path == 0)) {
      close(meta);
    }
  }
  closedir(list);
}

static void search_all(search *s) {
  for (uint32_t i = 0; i < s->all->count; i++) {
    search_in(s, i);
  }
}

/* Makes the files of a new home. Its .meta file is locked before anybody could take it for one. */
static int make(oap_home *home, const oap_options *options, const oap_directories *all,
                const char *name, const oap_home_shape *shape) {
  int meta = oap_home_file(all->fd[0], name, ".meta", O_CREAT | O_EXCL);
  if (meta < 0) {
    return meta;
  }
  int error = oap_home_lock(meta);
  if (error == 0) {
    error = oap_file_keep_in_place(meta);
  }
  if (error == 0 && ftruncate(meta, (off_t)oap_home_meta_bytes(shape)) != 0) {
    error = -errno;
  }
  if (error == 0) {
    error = oap_file_allocate(meta, 0, OAP_HOME_HEADER);
  }
  if (error == 0) {
    error = oap_home_note_paths(meta, options, OAP_HOME_PATHS, OAP_HOME_HEADER - OAP_HOME_PATHS);
  }
  for (uint32_t i = 0; error == 0 && i < all->count; i++) {
    home->data[i] = oap_home_file(all->fd[i], name, ".data", O_CREAT | O_EXCL);
    error = home->data[i] < 0 ? home->data[i] : 0;
  }
  if (error == 0) {
    error = map_header(home, meta);
  }
  if (error != 0) {
    close_data(home);
    oap_home_remove(all, name);
    oap_home_unlock(meta);
    return error;
  }
  home->is_new = true;
  home->header->shape = *shape;
  read_boot(home->header->boot);
  oap_home_sign(home->header);
  return 0;
}

static void *beat(void *argument) {
  oap_home *home = argument;
  pthread_mutex_lock(&home->heart.lock);
  while (!home->heart.is_ending) {
    futimens(home->meta, NULL);
    oap_periodic_pause(&home->heart, HEARTBEAT_MS);
  }
  pthread_mutex_unlock(&home->heart.lock);
  return NULL;
}

/* Finds a home, or makes one. */
static int find_or_make(oap_home *home, const oap_options *options, const oap_home_shape *shape,
                        const oap_directories *all, char name[OAP_HOME_NAME]) {
  search wanted = {.home = home,
                   .options = options,
                   .all = all,
                   .shape = shape,
                   .keep_seconds = options->keep_seconds};
  search_all(&wanted);
  int error = 0;
  if (home->header == NULL) {
    error = oap_home_name(wanted.name);
    if (error == 0) {
      error = make(home, options, all, wanted.name, shape);
    }
  } else {
    home->origin.is_reopened = true;
    home->origin.is_joined = home->is_joined;
    home->origin.unusable = NULL;
  }
  memcpy(name, wanted.name, OAP_HOME_NAME);
  return error;
}

int oap_home_open(oap_home *home, const oap_options *options, const oap_home_shape *shape) {
  oap_directories all;
  if (strlen(options->paths[0]) + sizeof("/oap-4294967295/") + OAP_HOME_NAME >
      sizeof(home->origin.home)) {
    return -ENAMETOOLONG;
  }
  int error = oap_directories_open(options, true, &all);
  if (error != 0) {
    return error;
  }
  for (uint32_t i = 0; i < OAP_MAX_PATHS; i++) {
    home->data[i] = -1;
  }
  home->is_shared = options->shared;
  char name[OAP_HOME_NAME];
  error = home->is_shared ? oap_home_wait_at_door(home, all.fd[0]) : 0;
  if (error == 0) {
    error = find_or_make(home, options, shape, &all, name);
  }
  oap_directories_close(&all);
  if (error == 0 && home->is_shared) {
    error = oap_home_enter(home);
  }
  if (error != 0) {
    return error;
  }
  home->ask_every_ms = options->medium == OAP_FILE ? oap_file_ask_every_ms(home->meta) : 0;
  snprintf(home->origin.home, sizeof(home->origin.home), "%s/oap-%u/%s", options->paths[0],
           (unsigned)geteuid(), name);
  return oap_periodic_start(&home->heart, beat, home); /* the caller closes the home */
}

uint32_t oap_home_remove_unused(const oap_options *options) {
  oap_directories all;
  search unwanted = {.options = options, .all = &all};
  if (oap_directories_open(options, false, &all) != 0) { /* there are none */
    return 0;
  }
  search_all(&unwanted);
  oap_directories_close(&all);
  return unwanted.removed;
}

bool oap_home_has_lost_writes(const oap_home *home) {
  if (home->header == NULL || home->meta < 0) {
    return false;
  }
  char *page = (char *)home->header + OAP_HOME_HEADER - sysconf(_SC_PAGESIZE);
  return oap_file_has_lost_writes(home->meta, home->ask_every_ms, page);
}

void oap_home_let_go(oap_home *home) {
  if (home->header == NULL) {
    return;
  }
  oap_periodic_end(&home->heart);
  oap_home_leave_door(home);
  if (home->meta >= 0) {
    oap_home_leave(home);
    oap_home_unlock(home->meta);
    home->meta = -1;
  }
}

void oap_home_close(oap_home *home, const oap_options *failed) {
  oap_directories all;
  if (home->header == NULL) {
    oap_home_leave_door(home);
    return;
  }
  close_data(home);
  if (failed != NULL && home->is_new && oap_directories_open(failed, false, &all) == 0) {
    const char *name = strrchr(home->origin.home, '/') + 1;
    oap_home_remove(&all, name);
    oap_directories_close(&all);
  }
  oap_home_let_go(home);
  oap_periodic_destroy(&home->heart);
  munmap(home->header, OAP_HOME_HEADER);
  home->header = NULL;
}
