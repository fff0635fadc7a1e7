/*
 * The column chunk pool: a fixed amount of memory that holds column chunks under numeric keys.
 *
 * A chunk enters in two steps: oap_pool_reserve gives the caller memory that only he sees, he fills
 * it, and oap_pool_publish makes the chunk visible (oap_pool_abandon gives the memory back). A
 * published chunk never changes. Readers pin it, read it in place, and unpin it. A chunk without
 * pins may be evicted to make room; a pinned one never is.
 *
 * Ownership: every successful reserve is ended by exactly one publish or abandon, every successful
 * publish or pin by exactly one unpin, with its oap_chunk, whose memory is the caller's until then.
 *
 * Threads: every function except open and close may be called by any thread at any time; a pin may
 * be ended by another thread than the one that took it. oap_pool_pin, oap_pool_unpin,
 * oap_pool_publish, oap_pool_is_held and the two of the note take no lock (the last unpin of a
 * dropped chunk does).
 *
 * Errors: functions return 0 or a negative errno, listed with each. Nothing is ever written to a
 * standard stream and no signal handler or environment variable is touched.
 */
#ifndef OAP_POOL_H
#define OAP_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk lies in at most so many pieces, each starting at a multiple of OAP_ALIGNMENT bytes. */
#define OAP_MAX_PIECES 4
#define OAP_ALIGNMENT 64

/* Positions are cut into windows of this many bytes, and no piece crosses a window's end. A reader
 * that cannot address more than 2 GiB at once (a Java buffer) needs one base address per window. */
#define OAP_WINDOW_BYTES (UINT64_C(1) << 30)

typedef struct oap_pool oap_pool;

/* What an entry is. The number stands in the top 8 bits of its key's representation; the other 56
 * are a hash of all else that its bytes depend on. */
enum oap_entry_kind {
  OAP_ENCODED_CHUNK, /* a column chunk, as it stands in its file */
  OAP_VECTOR_CHUNK,  /* its decoded values; see oap_vector.h */
  OAP_CACHED_BATCH   /* a column of a batch of rows that an application has cached; its key means
                        nothing to other applications, and nothing gives its bytes again */
};
#define OAP_KIND_SHIFT 56

/* What a chunk is: one column of one row group of one file, in one representation. Entries of other
 * kinds use the words as they like; drop_file goes by the first two. */
typedef struct oap_key {
  uint64_t file_high;
  uint64_t file_low;
  uint32_t row_group;
  uint32_t column;
  uint64_t representation;
} oap_key;

typedef struct oap_piece {
  unsigned char *data; /* where it lies in this process */
  uint64_t position;   /* where it lies in the pool; window = position / OAP_WINDOW_BYTES */
  uint64_t bytes;
} oap_piece;

/* A reserved or pinned chunk. slot and generation name it to the pool; leave them alone. */
typedef struct oap_chunk {
  uint64_t bytes;
  uint32_t slot;
  uint32_t generation;
  uint32_t pieces;
  uint32_t shard;
  oap_piece piece[OAP_MAX_PIECES];
} oap_chunk;

/* Where the chunks lie. */
enum oap_medium {
  OAP_DRAM,  /* anonymous memory, in huge pages where there are any */
  OAP_NODE,  /* the same, on the memory nodes given: CXL, HBM, persistent memory as system-ram */
  OAP_FILE,  /* an unnamed file in each directory given, its space reserved at open; it disappears
                with the process. tmpfs, or a disk behind the page cache: there a thread asks several
                times a second whether the disk has lost what was written. Then the pool drops all
                chunks and takes no more */
  OAP_FSDAX, /* the same on a file system that maps persistent memory directly */
  OAP_DEVDAX /* each character device given, locked (flock) against other pools until this one is
                retired or closed */
};

#define OAP_MAX_PATHS 16

typedef struct oap_options {
  uint64_t capacity; /* bytes; divided evenly over paths or nodes and over shards, rounded down to
                        whole pages; at least OAP_LEAST_CAPACITY in each such part */
  enum oap_medium medium;
  const char *const *paths; /* directories or devices; none for OAP_DRAM and OAP_NODE */
  uint32_t path_count;      /* at most OAP_MAX_PATHS */
  bool interleave;          /* OAP_NODE: page by page over the nodes, instead of a part on each */
  uint64_t nodes; /* bit n is node n. OAP_NODE: where it lies; 0: the node this thread runs
                     on. OAP_DRAM: where it lies as far as there is room, page by page over
                     several; 0: wherever the system puts it */
  bool prefault;  /* OAP_DRAM, OAP_NODE: a thread of low priority touches all memory, also what the
                     pool grows by, so that no load waits for the system to find and clear it. Else
                     it comes, and is resident, as it is first used. Pages that are not bound lie on
                     the node of the thread that touches them. */
  bool erase;  /* OAP_DEVDAX: the part of each device that the pool may grow to becomes zero when it
                  is opened and when it is retired or closed. Takes as long as writing it does */
  bool reopen; /* OAP_FILE, OAP_FSDAX: the pool lies in files with names, in a directory
                  oap-<user id> of each path, and outlives its process, however that ends. It takes
                  over what another one has left there that was opened with the same capacity,
                  shards, policy and number of paths, by the same library */
  bool shared; /* reopen, default policy: processes that open it so at the same time have one pool
                  together. What one has cached, all have; what one has pinned stays for all; one
                  that is killed leaves nothing but its chunks. Cannot be resized */
  uint32_t keep_seconds; /* reopen: pools there that nobody has used for so long are removed */
  const char *policy;    /* "s3fifo", "generations" or "lru"; NULL: the first */
  uint32_t shards;       /* independent parts, a power of two; 0: chosen by capacity */
} oap_options;

#define OAP_LEAST_CAPACITY (UINT64_C(1) << 16)

/* A pool may grow to so many times what it was opened with; less where address space or the size of
 * files is limited, and no further than a device goes. */
#define OAP_MOST_GROWTH 8

/* Figures since open, summed over the shards. Exact when no other thread is in the pool. */
typedef struct oap_stats {
  uint64_t capacity_bytes;
  uint64_t used_bytes;   /* in extents that belong to a chunk, rounding included; more than the
                            capacity while chunks are in use where the pool was before it shrank */
  uint64_t pinned_bytes; /* chunks pinned at least once, or reserved */
  uint64_t pinned_chunks;
  uint64_t chunks; /* published and not dropped */
  uint64_t hits;   /* pins that found their chunk */
  uint64_t misses; /* pins that did not */
  uint64_t publishes;
  uint64_t abandons;
  uint64_t evictions; /* chunks removed to make room, or because the pool shrank */
  uint64_t evicted_bytes;
  uint64_t drops;             /* by drop, drop_file and clear; in use when the pool shrank */
  uint64_t refused_present;   /* reserves answered EEXIST */
  uint64_t refused_loading;   /* EINPROGRESS */
  uint64_t refused_no_room;   /* ENOSPC */
  uint64_t refused_too_large; /* EFBIG */
  uint64_t metadata_bytes;    /* memory that the pool's own tables occupy now */
  uint64_t lost_writes;       /* how often a disk lost what was written; see OAP_FILE */
  uint64_t damaged; /* chunks of a reopened pool whose bytes were wrong at their first pin */
} oap_stats;

/* What became of the pools that were there when this one was opened with reopen. */
typedef struct oap_origin {
  bool is_reopened;     /* it goes on with what another one has left, or others have */
  bool is_joined;       /* shared: others have it */
  uint32_t member;      /* shared: the number of this process, below OAP_MOST_MEMBERS */
  uint64_t chunks;      /* how many it has found; 0 where it has joined others */
  uint64_t bytes;       /* of those */
  uint64_t refused;     /* entries that were there, and were damaged or of no use to others */
  const char *unusable; /* why another one, whose owner is gone, was not taken over; or NULL */
  char home[512];       /* its files without their ending: .meta and .data; "": without reopen */
} oap_origin;

/* Version of this library, as the build was told; a static string. */
const char *oap_pool_version(void);

/* Opens a pool. EINVAL: capacity too small, no such policy or node, shards no power of two, or
 * options that contradict each other; ENOTDIR: a path is no directory; EOPNOTSUPP: it is not on a
 * DAX file system, or, for OAP_FILE, on one that writes each block anew (ZFS), where no room can be
 * reserved; EIO: persistent memory has bad blocks that cannot be left out, since only root may know
 * where they lie or the file system has nothing else to give; ENODEV: it is no DAX device; EBUSY:
 * another pool, of this process or another, lies on the device; ENOSPC: no room there for its whole
 * part; ENOMEM: not so much memory, or not on its nodes, where what is free and what files have in
 * the page cache counts; EPERM, with reopen: the directory in a path belongs to another user, or
 * others may use it; ETIMEDOUT, shared: others keep it locked for minutes; EMFILE, EACCES, ... as
 * the system gave them. *out is written only on success. */
int oap_pool_open(const oap_options *options, oap_pool **out);

/* Tells where the pool comes from. The pointer is good until it is closed. */
const oap_origin *oap_pool_origin(const oap_pool *pool);

/* How many processes may share a pool at a time. */
#define OAP_MOST_MEMBERS 16

/* How many processes share the pool; one that was killed, for a second more. 0: it is alone. */
uint32_t oap_pool_members(const oap_pool *pool);

/* Empties the pool for good and gives its memory back, while other threads may still be in it: from
 * then on reserve answers ESHUTDOWN and pin ENOENT. What was opened with reopen stays in its files,
 * for the next pool. The pool must still be closed. EBUSY, and
 * nothing happens, while anything is reserved or pinned, or when that cannot be told because a disk
 * has lost what a pool opened with reopen knows of its chunks. EBUSY also when that begins during
 * the call: then the pool stays in use, but its chunks are dropped. Other errors as the system gave
 * them; then it is retired, but keeps some memory until it is closed. Walks all slots. */
int oap_pool_retire(oap_pool *pool);

/* Closes it and unmaps the memory. EBUSY, and nothing happens, while anything is reserved or
 * pinned, or when that cannot be told. No other thread may be in the pool or enter it. */
int oap_pool_close(oap_pool *pool);

/* Changes the capacity of a pool in use; rounded as at open. Addresses and windows stay as they
 * are.
 *
 * Growing takes memory or disk space at once; when there is none, nothing changes. Shrinking evicts
 * the chunks that lie in the part given up, wanted or not, since chunks are not moved, and gives
 * its memory back to the system. A chunk there that is pinned or reserved is dropped: its pins read
 * on, and its memory goes back with the last of them. The system keeps what it cannot take back:
 * devices always, explicit huge pages before Linux 5.18, files where the file system knows no
 * holes.
 *
 * EINVAL: too small. EFBIG: see OAP_MOST_GROWTH. ENOSPC: no room on a path. ENOMEM: no memory, or
 * none on its nodes; what the pool has not touched yet of its own counts as needed there.
 * ESHUTDOWN: retired. Other errors as the system gave them. One call at a time does its work,
 * others wait; a call walks all slots when it shrinks. EOPNOTSUPP: the pool is shared. */
int oap_pool_resize(oap_pool *pool, uint64_t capacity);

/* Gets memory for a chunk that is to be loaded; its contents are undefined. Makes room by evicting
 * if need be, but refuses before anything is evicted:
 * EINVAL: bytes is 0. EEXIST: published already; pin it. EINPROGRESS: reserved by another caller.
 * EFBIG: larger than a pool of this capacity can hold. ENOSPC: pinned chunks leave no room for it,
 * or so little that a short search has not found it; a later call searches elsewhere. Where others
 * pin chunks during the call, some may have been evicted in vain. ESHUTDOWN: retired, or a
 * disk has lost writes. ENOSPC of a shared pool also: another process has stopped in the middle of
 * a change, which is waited for 0.2 s once in a second. */
int oap_pool_reserve(oap_pool *pool, const oap_key *key, uint64_t bytes, oap_chunk *out);

/* Gets memory that is free, wherever it lies: nothing is ever evicted for it. Errors are those of
 * oap_pool_reserve; ENOSPC also: not so much is free in so few pieces. */
int oap_pool_reserve_free(oap_pool *pool, const oap_key *key, uint64_t bytes, oap_chunk *out);

/* Gets memory for a chunk that another pool hands over, which has counted so many asks for it; see
 * oap_held. When it enters they count here as if they had been made here, up to 15. What leaves for
 * it is asked for less often, by more than one ask; with the policies that count no asks, nothing
 * does. Errors are those of oap_pool_reserve; ENOSPC also: not so much is free in so few pieces or
 * worth less, as far as a short search tells. Then some of the latter may have been evicted in
 * vain. */
int oap_pool_reserve_handed(oap_pool *pool, const oap_key *key, uint64_t bytes, unsigned asks,
                            oap_chunk *out);

/* Copies a reserved chunk's bytes into its pieces, past the processor's caches where that is
 * faster: for loaders that have them elsewhere. Whoever reads the chunk at once finds it in memory
 * only. */
void oap_chunk_fill(const oap_chunk *chunk, const void *from);

/* Makes a reserved chunk visible; the caller now holds one pin on it, under the same oap_chunk.
 * EINVAL: not a reservation that is open. */
int oap_pool_publish(oap_pool *pool, const oap_chunk *chunk);

/* Keeps a number with a reserved chunk, for whoever pins it once it is published: a checksum of its
 * bytes, say. 0 until it is set. EINVAL: not a reservation that is open. */
int oap_pool_set_note(oap_pool *pool, const oap_chunk *chunk, uint64_t note);

/* That number. EINVAL: the chunk is not pinned. */
int oap_pool_note(oap_pool *pool, const oap_chunk *chunk, uint64_t *note);

/* Asks whether the system can read a pinned chunk, where a disk may have failed: to read what it
 * cannot give ends in SIGBUS. 0 also where the system does not tell (before Linux 5.14). Waits for
 * the disk. EIO: it cannot; EINVAL: the chunk is not pinned. */
int oap_pool_is_readable(oap_pool *pool, const oap_chunk *chunk);

/* Gives a reservation back. EINVAL: not a reservation that is open. */
int oap_pool_abandon(oap_pool *pool, const oap_chunk *chunk);

/* Pins a published chunk. Counts as a use. ENOENT: not held. */
int oap_pool_pin(oap_pool *pool, const oap_key *key, oap_chunk *out);

/* Pins a published chunk without counting a use, a hit or a miss: for checks of what is held.
 * ENOENT: not held. */
int oap_pool_pin_unused(oap_pool *pool, const oap_key *key, oap_chunk *out);

/* Copies a pinned chunk's bytes out of its pieces, for readers that need them in one. */
void oap_chunk_copy(const oap_chunk *chunk, void *to);

/* Ends one pin. EINVAL: the chunk is not pinned. */
int oap_pool_unpin(oap_pool *pool, const oap_chunk *chunk);

/* Waits while somebody loads a chunk, so many milliseconds at most. 0 or ETIMEDOUT. */
int oap_pool_await(oap_pool *pool, const oap_key *key, unsigned milliseconds);

/* Whether a chunk is published. Does not count as a use. */
bool oap_pool_is_held(oap_pool *pool, const oap_key *key);

/* Makes a chunk invisible at once and frees it with its last pin. One that is being loaded is never
 * seen by anybody but its loader. ENOENT: neither published nor being loaded. EAGAIN: another
 * process that shares the pool has stopped in the middle of a change. */
int oap_pool_drop(oap_pool *pool, const oap_key *key);

/* Drops every chunk of a file; returns how many there were. */
uint64_t oap_pool_drop_file(oap_pool *pool, uint64_t file_high, uint64_t file_low);

/* Drops every chunk; returns how many there were. */
uint64_t oap_pool_clear(oap_pool *pool);

void oap_pool_stats(oap_pool *pool, oap_stats *out);

/* Whether a disk has lost what was written to the pool; see OAP_FILE. Pinned chunks stay readable
 * then, and may have other bytes than were written. Costs a look at one number. */
bool oap_pool_has_lost_writes(oap_pool *pool);

#define OAP_MOST_NODES 64

/* Tells how many bytes of the pool's memory lie on each memory node, as numastat does of a process.
 * Asks move_pages(2) about up to 4096 pages, spread evenly over the capacity, so that it is exact
 * for a small pool, an estimate for a large one, and takes a millisecond for any. Pages that nobody
 * has touched lie nowhere, nor do those the kernel gives no answer for, such as devices. ENOSYS: a
 * kernel without nodes. EPERM: forbidden, as in some containers. */
int oap_pool_nodes(oap_pool *pool, uint64_t bytes[OAP_MOST_NODES]);

/* A number that grows whenever a chunk becomes visible or stops being so. */
uint64_t oap_pool_content_version(oap_pool *pool);

typedef struct oap_held {
  oap_key key;
  uint64_t bytes;
  uint64_t asks; /* how often it was asked for lately, about; up to 18 */
} oap_held;

#define OAP_NO_VERSION UINT64_MAX

/* Lists the published chunks: writes up to room of them and returns how many there are. What was
 * published all the while is in the list, unless another process keeps it locked: then *version is
 * OAP_NO_VERSION. Else it is that before the walk: whoever finds it later need not ask again. */
uint64_t oap_pool_snapshot(oap_pool *pool, oap_held *out, uint64_t room, uint64_t *version);

typedef struct oap_leaving {
  oap_key key;
  bool was_used; /* pinned again since it was published, pins that are no uses left out */
} oap_leaving;

/* Lists chunks that would leave before long if room were needed, up to room of them: those at the
 * ends of the policy's queues that are not pinned. Returns how many there are in the list. */
uint64_t oap_pool_leaving(oap_pool *pool, oap_leaving *out, uint64_t room);

/* Checks the inner structure of the pool, for tests. Returns NULL, or what is wrong (a static
 * string). No other thread may be in the pool. */
const char *oap_pool_validate(oap_pool *pool);

/* Base address and length of the i-th window; false past the last one. Fixed while open. Windows
 * are address space; memory is where the pieces of chunks lie. */
bool oap_pool_window(const oap_pool *pool, uint64_t i, unsigned char **data, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
