/*
 * The home of a pool that outlives its process: files with names, of which a later process takes
 * those over that nobody has.
 *
 *   <first path>/oap-<user>/<name>.meta    a header, all paths, then slots and sketch of each shard
 *   <each path>/oap-<user>/<name>.data     chunks
 *
 * The owner holds a lock on the first byte of the .meta file (an open file description's, which the
 * kernel lets go of however the process ends), and sets its time of modification once a minute.
 * Directories are 0700, files 0600, and what belongs to another user, or that others may write, is
 * not touched. Links are not followed. A file that is to be removed is removed under the lock, and
 * whoever gets a lock looks whether the file still has a name.
 */
#ifndef OAP_HOME_H
#define OAP_HOME_H

#include "base/background.h"
#include "oap_pool.h"

#include <stdatomic.h>

#define OAP_HOME_SHARDS 64

/* What a pool has to have in common with the one that it takes over. */
typedef struct oap_home_shape {
  uint64_t stripe;     /* bytes of each shard in each path */
  uint64_t kept_bytes; /* of each shard in the .meta file */
  uint32_t shards;
  uint32_t paths;
  char policy[16];
  char library[32]; /* oap_pool_version */
} oap_home_shape;

/* The start of the .meta file. The sum is of all before it; what stands behind it changes. */
typedef struct oap_home_header {
  uint64_t
      format; /* which layout of slots, hash of keys and hash of contents, in which byte order */
  oap_home_shape shape;
  uint64_t sum;
  char boot[40];         /* the system's boot that the files were last in use in */
  _Atomic uint64_t part; /* of each stripe, from its start, has room in its file */
  _Atomic uint32_t ready[OAP_HOME_SHARDS]; /* slots of each shard that have room in the file */
} oap_home_header;

#define OAP_HOME_HEADER (UINT64_C(1) << 16) /* where the first shard's part starts */
#define OAP_HOME_PATHS (UINT64_C(1) << 12)  /* where the paths stand, up to there */

typedef struct oap_home {
  oap_home_header *header; /* NULL: the pool has no home */
  oap_periodic heart;
  int meta;                /* the file, locked; -1 when it was let go of */
  unsigned ask_every_ms;   /* .meta on a disk: when to ask for lost writes; 0: none can be lost */
  int data[OAP_MAX_PATHS]; /* until the arenas take them over; then -1 */
  bool is_new;
  uint64_t full; /* bytes of each stripe that surely have room in the files */
  oap_origin origin;
} oap_home;

/* Finds a home of that shape in the paths of the options, or makes one, and removes those that
 * nobody has used for so long as the options say. The last sketch_bytes of what each shard keeps
 * are its sketch. 0 or -errno; it is to be closed in any case. */
int oap_home_open(oap_home *home, const oap_options *options, const oap_home_shape *shape,
                  uint64_t sketch_bytes);

/* Removes all homes in these paths that nobody has; returns how many. */
uint32_t oap_home_remove_unused(const oap_options *options);

/* Tells whether a write to the .meta file was lost, as oap_arena_has_lost_writes. */
bool oap_home_has_lost_writes(const oap_home *home);

/* Lets others have the home. The header stays mapped. */
void oap_home_let_go(oap_home *home);

/* Ends its use. A new one whose pool could not be opened is removed. */
void oap_home_close(oap_home *home, const oap_options *failed);

#endif
