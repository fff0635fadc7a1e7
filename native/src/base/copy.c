/* Copies into chunks and out of them: see copy.h. */
#include "copy.h"

#include "oap_pool.h"

#include <string.h>

/* Between these, four quarters side by side are faster than one after the other: what fetches lines
 * ahead starts anew with each page, and has four to start with. */
#define LEAST_QUARTERS (UINT64_C(16) << 10)
#define MOST_QUARTERS (UINT64_C(256) << 10)
#define LINE 64

#if defined(__SSE2__)
#include <emmintrin.h>

#define LEAST_STREAM 1024 /* less is not worth the two ends */

void oap_stream_copy(unsigned char *to, const void *from, uint64_t bytes) {
  const unsigned char *source = from;
  if (bytes >= LEAST_STREAM) {
    /* Only whole lines: the rest of one may be written in the usual way. */
    uint64_t head = -(uintptr_t)to % LINE;
    memcpy(to, source, head);
    to += head;
    source += head;
    bytes -= head;
    for (; bytes >= LINE; bytes -= LINE, to += LINE, source += LINE) {
      __m128i words[LINE / sizeof(__m128i)];
      memcpy(words, source, LINE);
      for (unsigned i = 0; i < LINE / sizeof(__m128i); i++) {
        _mm_stream_si128((__m128i *)(void *)to + i, words[i]);
      }
    }
  }
  memcpy(to, source, bytes);
}

void oap_stream_end(void) { _mm_sfence(); }

#else

void oap_stream_copy(unsigned char *to, const void *from, uint64_t bytes) {
  memcpy(to, from, bytes);
}

void oap_stream_end(void) {}

#endif

void oap_chunk_fill(const oap_chunk *chunk, const void *from) {
  const unsigned char *source = from;
  for (uint32_t i = 0; i < chunk->pieces; i++) {
    oap_stream_copy(chunk->piece[i].data, source, chunk->piece[i].bytes);
    source += chunk->piece[i].bytes;
  }
  oap_stream_end();
}

static void copy_piece(unsigned char *to, const oap_piece *piece) {
  const unsigned char *from = piece->data;
  uint64_t bytes = piece->bytes;
  uint64_t quarter = bytes / 4 / LINE * LINE;
  if (bytes < LEAST_QUARTERS || bytes > MOST_QUARTERS) {
    quarter = 0;
  }
  for (uint64_t i = 0; i < quarter; i += LINE) {
    memcpy(to + i, from + i, LINE);
    memcpy(to + quarter + i, from + quarter + i, LINE);
    memcpy(to + 2 * quarter + i, from + 2 * quarter + i, LINE);
    memcpy(to + 3 * quarter + i, from + 3 * quarter + i, LINE);
  }
  memcpy(to + 4 * quarter, from + 4 * quarter, bytes - 4 * quarter);
}

void oap_chunk_copy(const oap_chunk *chunk, void *to) {
  unsigned char *at = to;
  for (uint32_t i = 0; i < chunk->pieces; i++) {
    copy_piece(at, &chunk->piece[i]);
    at += chunk->piece[i].bytes;
  }
}
