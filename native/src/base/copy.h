/*
 * Filling memory that is not read again soon, past the processor's caches where it has stores for
 * that: a store of the usual kind first fetches the line it overwrites from memory. See
 * dev/decisions/0010.
 */
#ifndef OAP_COPY_H
#define OAP_COPY_H

#include <stdint.h>

/* Copies as memcpy does, of any length to any place. Other threads may not rely on what they are
 * told of it before oap_stream_end. */
void oap_stream_copy(unsigned char *to, const void *from, uint64_t bytes);

/* Orders this thread's copies before whatever it stores next. */
void oap_stream_end(void);

#endif
