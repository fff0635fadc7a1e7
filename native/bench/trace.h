/* What readers ask a pool for: made traces, and recorded ones from files (one line per ask: file,
 * row group, column and bytes as numbers). The made ones are the same in each run. */
#ifndef OAP_TRACE_H
#define OAP_TRACE_H

#include "oap_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The capacity that the made traces are meant for. */
#define CAPACITY (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

typedef struct ask {
  uint64_t file;
  uint32_t row_group;
  uint32_t column;
  uint64_t bytes;
  bool hot; /* counted apart */
} ask;

typedef struct trace {
  const char *name;
  ask *asks; /* the caller frees them */
  size_t count;
  size_t room;
} trace;

trace zipf_trace(const char *name, double scan_part, bool mixed);
/* Many chunks, so that what the cache holds is a small part of a long tail. */
trace small_zipf_trace(const char *name, double scan_part);
trace loop_trace(const char *name, double capacities, bool mixed);
/* Popularity drifts: what is asked for are the recent ones of an ever growing row of chunks. */
trace drift_trace(const char *name, uint64_t width, bool mixed);
/* Mostly chunks that were asked for shortly before: what least recently used is made for. */
trace recency_trace(const char *name);
/* Queries: some columns of the latest partitions of a fact table, in order, with dimensions in
 * between; now and then a report over the whole table; each day brings a partition. */
trace query_trace(const char *name, unsigned partitions, unsigned reports);
trace read_trace(const char *path);

/* Ends the program where there is no such pool. */
oap_pool *open_pool(const char *policy, uint64_t capacity);
/* Pins what is asked for, or puts it where it is missing. Whether it was there. */
bool serve(oap_pool *pool, const ask *a);

#endif
