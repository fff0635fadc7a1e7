/*
 * The watch over pools in files on disks. The kernel writes such a pool to the disk later. If that
 * fails, pages that have left the page cache read as what the disk held before, without an error.
 * So a thread asks for failures ten times a second, on overlays once a second. After the first
 * failure the pool drops all chunks and takes no more. Where the file of slots is what failed (see
 * home.h), they may be old by now, chains may end nowhere, and pins cannot be told: then the slots
 * are looked at no more, and the pool is in use until its process ends.
 *
 * Until then, pages that the kernel dropped and read again may be wrong, and so may a chunk that is
 * pinned longer. Asking at each hit would not change that: the failure may come after the hit.
 */
#ifndef OAP_WRITEBACK_H
#define OAP_WRITEBACK_H

#include "pool.h"

/* Starts the thread if a part of the pool lies in such a file. 0 or -errno. */
int oap_writeback_start(oap_pool *pool);

/* Ends it, if there is one; before the files are closed. */
void oap_writeback_stop(oap_pool *pool);

#endif
