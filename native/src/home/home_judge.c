/* Whether a home can be taken over: see home_judge.h. */
#include "home_judge.h"

#include "slots/slot.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT UINT64_C(0x4f4150504f4f4c02) /* the last byte counts layouts */

static const char *const DAMAGED = "it is damaged";

static uint64_t sum_of(const oap_home_header *header) {
  const unsigned char *bytes = (const unsigned char *)header;
  uint64_t sum = 0;
  for (size_t i = 0; i < offsetof(oap_home_header, sum); i++) {
    sum = oap_mix(sum ^ bytes[i]);
  }
  return sum;
}

void oap_home_sign(oap_home_header *header) {
  header->sum = 0;
  header->format = FORMAT;
  header->sum = sum_of(header);
}

uint64_t oap_home_meta_bytes(const oap_home_shape *shape) {
  return OAP_HOME_HEADER + shape->shards * shape->kept_bytes;
}

static bool read_header(int meta, oap_home_header *header) {
  return pread(meta, header, sizeof(*header), 0) == (ssize_t)sizeof(*header);
}

const char *oap_home_judge(int meta, const oap_home_shape *shape) {
  oap_home_header header;
  struct stat status;
  if (!read_header(meta, &header) || fstat(meta, &status) != 0) {
    return DAMAGED;
  }
  if (header.format != FORMAT) {
    return "another version of OAP has made it";
  }
  if (header.sum != sum_of(&header)) {
    return DAMAGED;
  }
  if (memcmp(header.shape.library, shape->library, sizeof(shape->library)) != 0) {
    return "another version of OAP has made it";
  }
  if (memcmp(&header.shape, shape, sizeof(*shape)) != 0) {
    return "it has another size, policy or number of paths";
  }
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t part = atomic_load(&header.part);
  bool is_whole = (uint64_t)status.st_size == oap_home_meta_bytes(shape) && part > 0 &&
                  part <= shape->stripe && part % page == 0;
  return is_whole ? NULL : DAMAGED;
}

static bool can_be_read(int meta, uint64_t start, uint64_t bytes) {
  char part[1 << 16];
  ssize_t count = 1;
  for (uint64_t done = 0; done < bytes && count > 0; done += (uint64_t)count) {
    count = pread(meta, part, oap_least(sizeof(part), bytes - done), (off_t)(start + done));
  }
  return count > 0;
}

const char *oap_home_judge_table(int meta, const oap_home_shape *shape) {
  oap_home_header header;
  bool is_read = read_header(meta, &header);
  for (uint32_t i = 0; is_read && i < shape->shards; i++) {
    uint64_t slots = ((uint64_t)atomic_load(&header.ready[i]) + 1) * sizeof(oap_slot);
    uint64_t start = OAP_HOME_HEADER + i * shape->kept_bytes;
    is_read = can_be_read(meta, start, oap_least(slots, shape->sketch_at)) &&
              can_be_read(meta, start + shape->sketch_at, shape->sketch_bytes);
  }
  return is_read ? NULL : DAMAGED;
}
