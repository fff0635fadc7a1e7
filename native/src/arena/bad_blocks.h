/*
 * Bad blocks of persistent memory, as the kernel lists them. A load from one is a machine check,
 * which comes to the process as SIGBUS.
 */
#ifndef OAP_BAD_BLOCKS_H
#define OAP_BAD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OAP_MOST_BAD_RANGES 512 /* the kernel keeps no more of a device */

typedef struct oap_bad_blocks {
  uint32_t count;
  struct {
    uint64_t start; /* in bytes of the device */
    uint64_t end;
  } range[OAP_MOST_BAD_RANGES]; /* in order */
} oap_bad_blocks;

/* Lists those of the device that a file's file system lies on: none where the kernel lists none. */
void oap_bad_blocks_under_file(int file, oap_bad_blocks *bad);

/* Whether a range of that file, which has blocks, lies on one. 0 or -errno. */
int oap_bad_blocks_touch(const oap_bad_blocks *bad, int file, uint64_t offset, uint64_t bytes,
                         bool *touch);

/* Lists those of a DAX device. 0; -EIO: there are some, but the kernel does not tell this user
 * where. */
int oap_bad_blocks_of_device(dev_t device, oap_bad_blocks *bad);

/* A number in a file of the kernel's; false where there is none. */
bool oap_kernel_number(const char *path, uint64_t *number);

#endif
