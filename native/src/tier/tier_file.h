/*
 * The tier's file, and buffers to read it through: it is read and written in whole blocks from and
 * to memory that starts at a block's multiple, as reads past the page cache want it (O_DIRECT).
 */
#ifndef OAP_TIER_FILE_H
#define OAP_TIER_FILE_H

#include <pthread.h>
#include <stdint.h>

/* Bytes of a buffer, a multiple of a block. */
#define OAP_TIER_BUFFER (UINT64_C(1) << 20)

/* Buffers that are kept for the next readers. */
#define OAP_TIER_BUFFERS 16

typedef struct oap_tier_file {
  int fd;
  pthread_mutex_t lock; /* guards the buffers that are kept */
  unsigned kept;
  void *buffers[OAP_TIER_BUFFERS];
} oap_tier_file;

/* Makes a file without a name, with room for so many bytes. 0 or -errno. */
int oap_tier_file_open(oap_tier_file *file, const char *directory, uint64_t bytes);

void oap_tier_file_close(oap_tier_file *file);

/* Gives the room on the disk back; readers get errors from here on. */
void oap_tier_file_empty(oap_tier_file *file);

/* Both go over whole blocks. 0 or -errno; EIO also where the file ends too early. */
int oap_tier_file_read(oap_tier_file *file, uint64_t position, void *data, uint64_t bytes);
int oap_tier_file_write(oap_tier_file *file, uint64_t position, const void *data, uint64_t bytes);

/* A buffer for one reader, or NULL; and back. */
void *oap_tier_buffer_take(oap_tier_file *file);
void oap_tier_buffer_give(oap_tier_file *file, void *buffer);

#endif
