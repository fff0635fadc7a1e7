/* Poisons free extents under AddressSanitizer, so that access to a chunk that is no longer held is
 * found. Does nothing in other builds. */
#ifndef OAP_POISON_H
#define OAP_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define OAP_POISON(data, bytes) ASAN_POISON_MEMORY_REGION(data, bytes)
#define OAP_UNPOISON(data, bytes) ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#else
#define OAP_POISON(data, bytes) ((void)(data), (void)(bytes))
#define OAP_UNPOISON(data, bytes) ((void)(data), (void)(bytes))
#endif

#endif
