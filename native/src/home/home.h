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
 *
 * Processes that share a home each hold a lock for readers on the first byte, and one on a byte of
 * their own behind it, by which the others know that they are there. They come in one after the
 * other, by a lock on the directory of the first path. The first to come finds nobody, and makes
 * everything but the slots anew.
 */
#ifndef OAP_HOME_H
#define OAP_HOME_H

#include "base/background.h"
#include "slots/holders.h"

#define OAP_HOME_SHARDS 64

/* What a pool has to have in common with the one that it takes over. */
typedef struct oap_home_shape {
  uint64_t stripe;     /* bytes of each shard in each path */
  uint64_t kept_bytes; /* of each shard in the .meta file, its sketch among them */
  uint64_t sketch_at;
  uint64_t sketch_bytes;
  uint64_t fixed_part; /* shared: of each stripe, what is in use; else 0 */
  uint32_t shards;
  uint32_t paths;
  uint32_t members; /* the most processes that may share it; 0: one at a time */
  char policy[16];
  char library[32]; /* oap_pool_version */
  char locks[28];   /* shared: the C library whose locks lie in it */
} oap_home_shape;

/* The start of the .meta file. The sum is of all before it; what stands behind it changes. */
typedef struct oap_home_header {
  uint64_t
      format; /* which layout of slots, hash of keys and hash of contents, in which byte order */
  oap_home_shape shape;
  uint64_t sum;
  char boot[40];         /* the system's boot that the files were last in use in */
  _Atomic uint64_t part; /* of each stripe, from its start, has room in its file */
  _Atomic uint32_t ready[OAP_HOME_SHARDS];      /* slots of each shard that have room in the file */
  _Atomic uint32_t members;                     /* shared: all that ever were have lower numbers */
  _Atomic uint32_t is_member[OAP_MOST_MEMBERS]; /* until it is swept */
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
  bool is_shared;
  bool is_joined;  /* shared: others were in it when it was opened */
  uint32_t self;   /* shared: which member this process is */
  bool is_swept;   /* shared: nothing is left of who had that number before */
  bool is_at_door; /* shared: no other process comes in, because of the lock of this directory */
  int door;
  uint64_t full; /* bytes of each stripe that surely have room in the files */
  oap_origin origin;
} oap_home;

/* Finds a home of that shape in the paths of the options, or makes one, and removes those that
 * nobody has used for so long as the options say. 0 or -errno; it is to be closed in any case.
 * Where the options share the pool, no other process opens or makes one in the first path until
 * oap_home_let_in; ETIMEDOUT: another one does not come to an end with that. EUSERS: as many
 * processes as there may be have it. */
int oap_home_open(oap_home *home, const oap_options *options, const oap_home_shape *shape);

/* Lets others open a shared home, now that all of the pool is there. */
void oap_home_let_in(oap_home *home);

/* Whether that member of a shared home is gone, and nobody has swept it yet. True: no other process
 * finds so until oap_home_has_swept, and no new one takes its number. */
bool oap_home_is_gone(oap_home *home, uint32_t member);
void oap_home_has_swept(oap_home *home, uint32_t member, bool is_done);

/* Removes all homes in these paths that nobody has; returns how many. */
uint32_t oap_home_remove_unused(const oap_options *options);

/* Tells whether a write to the .meta file was lost, as oap_arena_has_lost_writes. */
bool oap_home_has_lost_writes(const oap_home *home);

/* Lets others have the home. The header stays mapped. */
void oap_home_let_go(oap_home *home);

/* Ends its use. A new one whose pool could not be opened is removed. */
void oap_home_close(oap_home *home, const oap_options *failed);

#endif
