/* Arenas: the mappings that the pool's data lies in, one per path or memory node. */
#ifndef OAP_ARENA_H
#define OAP_ARENA_H

#include "oap_pool.h"

typedef struct oap_arena {
  unsigned char *data;
  uint64_t bytes;
  uint64_t position; /* of its first byte in the pool; a multiple of OAP_WINDOW_BYTES */
  int lock;          /* descriptor that keeps the device from other pools; -1: none */
} oap_arena;

/* Maps bytes of the medium: in the i-th path or on the i-th node where there are several. 0 or
 * -errno. */
int oap_arena_map(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t bytes);

/* How many arenas the options ask for; 0: they contradict themselves. */
uint32_t oap_arena_count(const oap_options *options);

void oap_arena_unmap(oap_arena *arena);

/* Gives the memory back but keeps the addresses mapped. 0 or -errno. */
int oap_arena_empty(oap_arena *arena);

/* For arena.c: maps a file in a directory, or a device. 0 or -errno. */
int oap_map_file(const char *directory, bool must_be_dax, uint64_t bytes, void **data);

/* The same for a device. *lock is a descriptor that keeps other pools from it until closed. */
int oap_map_device(const char *path, uint64_t bytes, void **data, int *lock);

/* Memory for tables: all zero, used up only where touched. NULL: errno says why. */
void *oap_table_map(uint64_t bytes);
void oap_table_unmap(void *table, uint64_t bytes);

/* Bytes of a table that occupy memory now. */
uint64_t oap_table_resident(const void *table, uint64_t bytes);

#endif
