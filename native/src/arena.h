/* Arenas: the mappings that the pool's data lies in. */
#ifndef OAP_ARENA_H
#define OAP_ARENA_H

#include "oap_pool.h"

typedef struct oap_arena {
  unsigned char *data;
  uint64_t bytes;
} oap_arena;

/* Maps bytes of anonymous memory, or of an unnamed file in the directory path with its space
 * reserved. 0 or -errno. */
int oap_arena_map(oap_arena *arena, const char *path, uint64_t bytes);

void oap_arena_unmap(oap_arena *arena);

/* Gives the memory back but keeps the addresses mapped. 0 or -errno. */
int oap_arena_empty(oap_arena *arena);

/* Memory for tables: all zero, used up only where touched. NULL: errno says why. */
void *oap_table_map(uint64_t bytes);
void oap_table_unmap(void *table, uint64_t bytes);

/* Bytes of a table that occupy memory now. */
uint64_t oap_table_resident(const void *table, uint64_t bytes);

#endif
