/* Memory for tables: see table.h. */
#include "table.h"

#include "arena_parts.h"
#include "base/arithmetic.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

void *oap_table_map(uint64_t bytes) {
  void *table = NULL;
  int error = oap_memory_reserve(bytes, PROT_READ | PROT_WRITE, &table);
  if (error != 0) {
    errno = -error;
    return NULL;
  }
  /* Tables are sparse; where they are not, oap_table_use_huge is told. */
  madvise(table, bytes, MADV_NOHUGEPAGE);
  return table;
}

void oap_table_use_huge(void *from, uint64_t bytes) {
  uintptr_t start = oap_round_up((uintptr_t)from, OAP_HUGE_PAGE);
  uintptr_t end = ((uintptr_t)from + bytes) / OAP_HUGE_PAGE * OAP_HUGE_PAGE;
  if (start < end) {
    madvise((void *)start, end - start, MADV_HUGEPAGE);
  }
}

void oap_table_unmap(void *table, uint64_t bytes) {
  if (table != NULL) {
    munmap(table, bytes);
  }
}

uint64_t oap_table_resident(const void *table, uint64_t bytes) {
  enum { PAGES_AT_ONCE = 4096 };
  unsigned char seen[PAGES_AT_ONCE];
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t resident = 0;
  /* Tables start at multiples of 4 KiB, pages may be larger. */
  uintptr_t start = (uintptr_t)table / page * page;
  uintptr_t end = (uintptr_t)table + bytes;
  for (uintptr_t at = start; at < end; at += PAGES_AT_ONCE * page) {
    uint64_t part = end - at < PAGES_AT_ONCE * page ? end - at : PAGES_AT_ONCE * page;
    if (mincore((void *)at, part, seen) != 0) {
      return resident;
    }
    for (uint64_t i = 0; i < (part + page - 1) / page; i++) {
      resident += (seen[i] & 1) * page;
    }
  }
  return resident;
}
