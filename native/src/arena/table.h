/* Memory for the tables of shards and models. */
#ifndef OAP_TABLE_H
#define OAP_TABLE_H

#include <stdint.h>

/* Maps memory that is all zero and used up only where touched; it starts at a multiple of 2 MiB.
 * NULL: errno says why. */
void *oap_table_map(uint64_t bytes);

/* Lets a part of a table, filled without gaps or touched all over, lie in huge pages. */
void oap_table_use_huge(void *from, uint64_t bytes);

/* NULL: nothing to unmap. */
void oap_table_unmap(void *table, uint64_t bytes);

/* Bytes of a table that occupy memory now. */
uint64_t oap_table_resident(const void *table, uint64_t bytes);

#endif
