/*
 * The content hash: whether a chunk still is what it was when it was published. 64 bits over the
 * bytes, the key and the note, by four lanes that each take a word of 32 bytes at a time, as xxHash
 * does (Collet, 2012). It finds faults of media and torn writes, not forgeries.
 */
#ifndef OAP_CONTENT_HASH_H
#define OAP_CONTENT_HASH_H

#include <stdint.h>

typedef struct oap_content {
  uint64_t lanes[4];
} oap_content;

/* Begins a hash of the chunk with that key. */
void oap_content_begin(oap_content *content, const uint64_t key[4]);

/* Adds the next bytes: a multiple of 32, except the last time. */
void oap_content_add(oap_content *content, const unsigned char *data, uint64_t bytes);

/* The hash, given how many bytes there were. Never 0. */
uint64_t oap_content_end(const oap_content *content, uint64_t bytes, uint64_t note);

#endif
