/* See check.h. */
#include "check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

uint64_t check_seed;

oap_key key_numbered(uint64_t file, uint32_t row_group, uint32_t column) {
  return (oap_key){
      .file_high = file * UINT64_C(0x9e3779b97f4a7c15),
      .file_low = file,
      .row_group = row_group,
      .column = column,
  };
}

oap_pool *pool_open(uint64_t capacity, uint32_t shards) {
  oap_options options = {.capacity = capacity, .shards = shards};
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  return pool;
}

void pool_close(oap_pool *pool) {
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
}

oap_options check_options(uint64_t capacity) {
  static const char *const names[] = {"dram", "node", "file", "fsdax", "devdax"};
  static const char *path;
  oap_options options = {.capacity = capacity};
  const char *wanted = getenv("OAP_TEST_MEDIUM");
  path = getenv("OAP_TEST_PATH");
  if (wanted == NULL) {
    return options;
  }
  unsigned i = 0;
  while (i < 5 && strcmp(names[i], wanted) != 0) {
    i++;
  }
  CHECK(i < 5);
  options.medium = (enum oap_medium)i;
  if (options.medium == OAP_NODE) {
    const char *node = getenv("OAP_TEST_NODE");
    options.nodes = UINT64_C(1) << (node == NULL ? 0 : strtoul(node, NULL, 10));
  } else if (options.medium != OAP_DRAM) {
    CHECK(path != NULL);
    options.paths = &path;
    options.path_count = 1;
  }
  return options;
}

bool check_is_memcheck(void) { return getenv("OAP_TEST_MEMCHECK") != NULL; }

bool check_is_threadsan(void) {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}

bool check_is_addresssan(void) {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

/* Whether no thread of this process runs but the one that asks. */
static bool others_sleep(void) {
  DIR *threads = opendir("/proc/self/task");
  CHECK(threads != NULL);
  bool sleep = true;
  for (struct dirent *entry; sleep && (entry = readdir(threads)) != NULL;) {
    int id = atoi(entry->d_name);
    if (id == 0 || id == gettid()) {
      continue;
    }
    char path[64];
    char state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
    FILE *stat = fopen(path, "r");
    /* The state follows the name, which has no bracket. A thread without the file has just ended.
     */
    sleep = stat != NULL && fscanf(stat, "%*[^)]) %c", &state) == 1 && state == 'S';
    if (stat != NULL) {
      fclose(stat);
    }
  }
  closedir(threads);
  return sleep;
}

pid_t check_fork(void) {
  for (int i = 0; !others_sleep(); i++) {
    CHECK(i < 10000);
    usleep(1000);
  }
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  }
  return child;
}

static uint64_t pattern(const oap_key *key, uint64_t bytes, uint64_t at) {
  uint64_t state = key->file_low * 31 + key->row_group * UINT64_C(1000003) + key->column +
                   key->representation * 7919 + bytes * 131 + at;
  return random_next(&state);
}

/* Every piece starts at a multiple of 64 bytes of the chunk, so whole numbers never straddle. */
void chunk_fill(const oap_key *key, const oap_chunk *chunk) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < chunk->pieces; i++) {
    const oap_piece *piece = &chunk->piece[i];
    for (uint64_t j = 0; j < piece->bytes; j += 8, at += 8) {
      uint64_t number = pattern(key, chunk->bytes, at);
      memcpy(piece->data + j, &number, piece->bytes - j < 8 ? piece->bytes - j : 8);
    }
  }
}

bool chunk_is_right(const oap_key *key, const oap_chunk *chunk) {
  uint64_t at = 0;
  uint64_t bytes = 0;
  if (chunk->pieces < 1 || chunk->pieces > OAP_MAX_PIECES) {
    return false;
  }
  for (uint32_t i = 0; i < chunk->pieces; i++) {
    const oap_piece *piece = &chunk->piece[i];
    if ((uintptr_t)piece->data % OAP_ALIGNMENT != 0 ||
        piece->position / OAP_WINDOW_BYTES !=
            (piece->position + piece->bytes - 1) / OAP_WINDOW_BYTES) {
      return false;
    }
    for (uint64_t j = 0; j < piece->bytes; j += 8, at += 8) {
      uint64_t number = pattern(key, chunk->bytes, at);
      if (memcmp(piece->data + j, &number, piece->bytes - j < 8 ? piece->bytes - j : 8) != 0) {
        return false;
      }
    }
    bytes += piece->bytes;
  }
  return bytes == chunk->bytes;
}

int chunk_put(oap_pool *pool, const oap_key *key, uint64_t bytes) {
  oap_chunk chunk;
  int result = oap_pool_reserve(pool, key, bytes, &chunk);
  if (result == 0) {
    chunk_fill(key, &chunk);
    CHECK(oap_pool_publish(pool, &chunk) == 0);
    CHECK(oap_pool_unpin(pool, &chunk) == 0);
  }
  return result;
}

bool check_mapping_has_flag(const void *address, const char *flag) {
  FILE *smaps = fopen("/proc/self/smaps", "re");
  CHECK(smaps != NULL);
  char line[512];
  bool inside = false, found = false;
  while (fgets(line, sizeof(line), smaps) != NULL) {
    unsigned long long start, end;
    if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
      inside = start <= (uintptr_t)address && (uintptr_t)address < end;
    } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
      found |= strstr(line, flag) != NULL;
    }
  }
  CHECK(fclose(smaps) == 0);
  return found;
}

FILE *check_file_of(const char *text) {
  FILE *file = tmpfile();
  CHECK(file != NULL && fputs(text, file) >= 0);
  rewind(file);
  return file;
}
