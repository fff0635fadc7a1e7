/*
 * Arenas: the mappings that the pool's data lies in, one per path or memory node. An arena is
 * address space from open to close; which of it is memory or disk space, commit and release say, so
 * that a pool can grow and shrink while its addresses stay what they are.
 */
#ifndef OAP_ARENA_H
#define OAP_ARENA_H

#include "oap_pool.h"

#include <stdatomic.h>

#define OAP_HUGE_PAGE (UINT64_C(2) << 20)

/* A part of an arena, from one offset up to another. */
typedef struct oap_arena_part {
  uint64_t start;
  uint64_t end;
} oap_arena_part;

typedef struct oap_arena {
  unsigned char *data;
  uint64_t bytes;    /* of address space */
  uint64_t position; /* of its first byte in the pool; a multiple of OAP_WINDOW_BYTES */
  enum oap_medium medium;
  uint64_t nodes; /* those it lies on, or, for OAP_DRAM, is to lie on as they have room; or 0 */
  bool interleave;
  bool erase;            /* OAP_DEVDAX: its bytes become zero before it goes */
  unsigned ask_every_ms; /* OAP_FILE on a disk: when to ask for lost writes; 0: none can be lost */
  _Atomic bool has_huge_pages; /* explicit ones, in a part of it at least */
  uint64_t spare;        /* OAP_FSDAX: where in the file room is that nothing is mapped to yet */
  oap_arena_part *moved; /* OAP_FSDAX: what lies there, away from bad blocks; in order */
  uint32_t moved_count;
  int file; /* the file, or the device, which it keeps from other pools; -1: none */
} oap_arena;

/* Returns the node that is nearest to the calling thread's processor, as a bit: bit n is node n. */
uint64_t oap_own_node(void);

/* Gets address space of the medium, in the i-th path or on the i-th node; the own node comes first.
 * A file that has a name is the arena's from then on; -1: the path gets one without.
 * It has so many bytes, or as many as a device has, but at least `least`, for which there must be
 * room now. 0 or -errno. */
int oap_arena_open(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t own_node,
                   int named, uint64_t least, uint64_t bytes);

/* Returns how many arenas the options ask for; 0: the options contradict each other. */
uint32_t oap_arena_count(const oap_options *options);

/* Estimates whether there is room for so many more bytes; only commit knows. 0 or -errno. */
int oap_arena_has_room(const oap_arena *arena, uint64_t bytes);

/* Makes from..to of the stripe that starts at offset usable; up to `ever` the stripe was usable
 * before. 0 or -errno; then a part of it may be usable. */
int oap_arena_commit(oap_arena *arena, uint64_t offset, uint64_t from, uint64_t ever, uint64_t to);

/* Gives the whole pages of a range back to the system, as far as it takes them. Their contents are
 * lost, and they must be committed again before they are used. */
void oap_arena_release(const oap_arena *arena, uint64_t offset, uint64_t bytes);

/* Touches a committed range in memory, so that its pages are there; other threads may use it
 * meanwhile. Does nothing on other media. */
void oap_arena_touch(const oap_arena *arena, uint64_t offset, uint64_t bytes);

/* Tells whether a write to an arena on a disk was lost on its way there since open, or since the
 * last call. Waits for nothing. */
bool oap_arena_has_lost_writes(const oap_arena *arena);

void oap_arena_close(oap_arena *arena);

/* Gives all memory back but keeps the addresses, which read as zero. 0 or -errno; then nothing
 * changes. */
int oap_arena_empty(oap_arena *arena);

#endif
