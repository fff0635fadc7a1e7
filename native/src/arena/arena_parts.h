/* The kinds of arenas, for arena.c. Each part is implemented in the file that it names. */
#ifndef OAP_ARENA_PARTS_H
#define OAP_ARENA_PARTS_H

#include "arena.h"

/* ---- arena_memory.c ---- */

/* Address space that starts at a multiple of OAP_HUGE_PAGE. 0 or -errno. */
int oap_memory_reserve(uint64_t bytes, int protection, void **data);

/* Keeps a range of addresses out of core dumps, which would be as large as the pool and hold users'
 * data, and out of child processes. If a child shared the pages, a write of this process would
 * first copy the page; where no explicit huge page is left for the copy, that ends in SIGBUS. */
void oap_memory_hide(void *data, uint64_t bytes);

/* Memory for from..to of a stripe that starts at offset, as oap_arena_commit. All three are rounded
 * up to huge pages, which the stripe has addresses for. 0 or -errno. */
int oap_memory_commit(oap_arena *arena, uint64_t offset, uint64_t from, uint64_t ever, uint64_t to);

/* Whether the system, and the arena's nodes, can give so many more bytes. 0 or -ENOMEM. */
int oap_memory_has_room(const oap_arena *arena, uint64_t bytes);

/* Whether a mapped range can be read. Where a disk fails, a read ends in SIGBUS; this asks the
 * kernel first, and brings the pages in. True where the kernel does not tell (before Linux 5.14).
 */
bool oap_memory_is_readable(const void *data, uint64_t bytes);

/* As oap_arena_touch. */
void oap_memory_touch(const oap_arena *arena, uint64_t offset, uint64_t bytes);

/* The i-th of the nodes; own node first, the others in order. */
uint64_t oap_node_numbered(uint64_t nodes, uint64_t own, uint32_t i);

/* ---- arena_file.c ---- */

/* Opens a file without a name in a directory; or -errno. */
int oap_file_unnamed(const char *directory);

/* Has an empty file written in place. Room that is reserved is of use only where a write stays in
 * it. File systems that write each block anew need other room for that, and a mapping that finds
 * none ends in SIGBUS. btrfs leaves off for a file that is marked while it is empty. ZFS cannot,
 * and reserves nothing either. 0 or -errno. */
int oap_file_keep_in_place(int file);

/* Makes a file so many bytes long and maps it. None of them takes disk space for that, but there is
 * room for `least`. 0 or -errno. */
int oap_file_map(int file, bool must_be_dax, uint64_t least, uint64_t bytes, void **data);

/* Reserves disk space for a range of a file. 0 or -errno. */
int oap_file_allocate(int file, uint64_t offset, uint64_t bytes);

/* Disk space for a range of the arena, which lies on no bad block of persistent memory. What was
 * moved away from one stays as it is: a chunk that is pinned may lie there. 0 or -errno. */
int oap_file_commit(oap_arena *arena, uint64_t offset, uint64_t bytes);

/* The next part of a range of the arena, from an offset on, that was not moved away from bad
 * blocks; false: there is none. */
bool oap_file_next_in_place(const oap_arena *arena, uint64_t from, uint64_t end,
                            oap_arena_part *out);

/* How often, in milliseconds, to ask whether what was written to a file has been lost on its way to
 * a disk; 0: it does not go to one. */
unsigned oap_file_ask_every_ms(int file);

/* Whether a write to such a file was lost since it was opened, or since the last call for it.
 * `page` starts a page of its mapping that nobody writes to, so that nothing is waited for. */
bool oap_file_has_lost_writes(int file, unsigned ask_every_ms, void *page);

/* Whether the file system of a file has so many bytes to give. 0 or -errno. */
int oap_file_has_room(int file, uint64_t bytes);

/* ---- arena_device.c ---- */

/* Opens, locks and maps a device, except its bad blocks. *bytes is how many are wanted; there may
 * be fewer, but not fewer than `least`. 0 or -errno. */
int oap_device_map(const char *path, uint64_t least, uint64_t *bytes, void **data, int *file);

#endif
