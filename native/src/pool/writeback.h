/*
 * The watch over pools in files on disks. What is written to such a pool goes to the disk later, by
 * the kernel; if that fails, the pages show what the disk held before as soon as they have left the
 * page cache, and nothing else tells. So a thread asks for failures ten times a second, on overlays
 * once a second. After the first one the pool drops what it holds and takes no more.
 *
 * What is read within that time, of pages that the kernel dropped and read again, may be wrong; so
 * may a chunk that is pinned longer. Asking with each hit would not end that, for the failure may
 * come after it.
 */
#ifndef OAP_WRITEBACK_H
#define OAP_WRITEBACK_H

#include "pool.h"

/* Starts the thread if a part of the pool lies in such a file. 0 or -errno. */
int oap_writeback_start(oap_pool *pool);

/* Ends it, if there is one; before the files are closed. */
void oap_writeback_stop(oap_pool *pool);

#endif
