/* Bad blocks: see bad_blocks.h. */
#include "bad_blocks.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define SECTOR 512

bool oap_kernel_number(const char *path, uint64_t *number) {
  FILE *file = fopen(path, "re");
  long long value;
  bool told = file != NULL && fscanf(file, "%lli", &value) == 1;
  if (file != NULL) {
    fclose(file);
  }
  *number = told ? (uint64_t)value : 0;
  return told;
}

/* Lines of a first sector and how many, of a disk or region in which the device begins at a byte;
 * false where there is no such file. */
static bool read_list(const char *path, uint64_t begin, oap_bad_blocks *bad) {
  bad->count = 0;
  FILE *file = fopen(path, "re");
  if (file == NULL) {
    return false;
  }
  unsigned long long sector;
  unsigned long long sectors;
  while (bad->count < OAP_MOST_BAD_RANGES && fscanf(file, "%llu %llu", &sector, &sectors) == 2) {
    uint64_t start = sector * SECTOR;
    uint64_t end = start + sectors * SECTOR;
    if (end > begin) {
      bad->range[bad->count].start = start > begin ? start - begin : 0;
      bad->range[bad->count++].end = end - begin;
    }
  }
  fclose(file);
  return true;
}

/* A partition has its disk's list. */
void oap_bad_blocks_under_file(int file, oap_bad_blocks *bad) {
  bad->count = 0;
  struct stat status;
  if (fstat(file, &status) != 0) {
    return;
  }
  char path[96];
  int length = snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/", major(status.st_dev),
                        minor(status.st_dev));
  char *name = path + length;
  size_t room = sizeof(path) - (size_t)length;
  uint64_t first_sector;
  snprintf(name, room, "start");
  bool is_partition = oap_kernel_number(path, &first_sector);
  snprintf(name, room, is_partition ? "../badblocks" : "badblocks");
  read_list(path, first_sector * SECTOR, bad);
}

static bool overlaps(const oap_bad_blocks *bad, uint64_t start, uint64_t end) {
  for (uint32_t i = 0; i < bad->count; i++) {
    if (bad->range[i].start < end && start < bad->range[i].end) {
      return true;
    }
  }
  return false;
}

int oap_bad_blocks_touch(const oap_bad_blocks *bad, int file, uint64_t offset, uint64_t bytes,
                         bool *touch) {
  enum { EXTENTS_AT_ONCE = 16 };
  union {
    struct fiemap map;
    char room[sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent)];
  } asked;
  *touch = false;
  uint64_t end = offset + bytes;
  while (bad->count > 0 && offset < end && !*touch) {
    memset(&asked, 0, sizeof(asked));
    asked.map.fm_start = offset;
    asked.map.fm_length = end - offset;
    asked.map.fm_extent_count = EXTENTS_AT_ONCE;
    if (ioctl(file, FS_IOC_FIEMAP, &asked.map) != 0) {
      return -errno;
    }
    if (asked.map.fm_mapped_extents == 0) {
      return 0;
    }
    for (uint32_t i = 0; i < asked.map.fm_mapped_extents; i++) {
      const struct fiemap_extent *extent = &asked.map.fm_extents[i];
      uint64_t from = extent->fe_logical > offset ? extent->fe_logical : offset;
      uint64_t extent_end = extent->fe_logical + extent->fe_length;
      uint64_t to = extent_end < end ? extent_end : end;
      uint64_t physical = extent->fe_physical - extent->fe_logical;
      *touch |= from < to && overlaps(bad, physical + from, physical + to);
      offset = extent_end > offset ? extent_end : end;
    }
  }
  return 0;
}

/* The list is that of the region, some folders above the device's own, in which only its address
 * says where the device begins. */
int oap_bad_blocks_of_device(dev_t device, oap_bad_blocks *bad) {
  enum { MOST_ABOVE = 5 };
  char path[160];
  uint64_t start = 0;
  bool told = false;
  int length = snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/", major(device), minor(device));
  snprintf(path + length, sizeof(path) - (size_t)length, "resource");
  told = oap_kernel_number(path, &start) && start != 0;
  for (int i = 0; i < MOST_ABOVE; i++) {
    length += snprintf(path + length, sizeof(path) - (size_t)length, "../");
    char *name = path + length;
    size_t room = sizeof(path) - (size_t)length;
    snprintf(name, room, "badblocks");
    if (!read_list(path, 0, bad)) {
      continue;
    }
    if (bad->count == 0) {
      return 0;
    }
    uint64_t region_start;
    snprintf(name, room, "resource");
    if (!told || !oap_kernel_number(path, &region_start) || region_start == 0) {
      return -EIO;
    }
    snprintf(name, room, "badblocks");
    read_list(path, start - region_start, bad);
    return 0;
  }
  bad->count = 0;
  return 0;
}
