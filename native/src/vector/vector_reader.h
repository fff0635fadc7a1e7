/* A chunk opened for reading; shared by the files that read. */
#ifndef OAP_VECTOR_READER_H
#define OAP_VECTOR_READER_H

#include "vector_format.h"
#include "vector_kernels.h"

/* Something that crosses from one piece into the next, put together. Each of the up to three places
 * where pieces meet has at most one. */
typedef struct vector_copy {
  uint64_t offset;
  uint64_t bytes;
  unsigned char *data;
} vector_copy;

struct oap_vector {
  const vector_kernels *kernels;
  enum oap_kind kind;
  uint32_t rows;
  uint32_t zones;
  bool is_decoded;                 /* a part of what oap_vector_open_decoded made */
  uint32_t entries;                /* of the dictionary; 0: none */
  const vector_zone *zone;         /* the directory; every field but the values was checked */
  const unsigned char *dictionary; /* entries one behind the other */
  const uint32_t *starts;          /* of BYTES in dictionary, and the end of the last */
  uint32_t pieces;
  const unsigned char *piece[VECTOR_MOST_PIECES];
  uint64_t piece_start[VECTOR_MOST_PIECES + 1]; /* in the chunk */
  uint32_t copies;
  vector_copy copy[VECTOR_MOST_PIECES - 1];
  /* Scratch of one call. */
  uint64_t values[OAP_ZONE_ROWS];
  uint32_t codes[OAP_ZONE_ROWS];
  uint8_t flags[OAP_ZONE_ROWS];
  uint8_t run_flags[OAP_ZONE_ROWS];
  uint8_t nulls[OAP_ZONE_ROWS];
};

/* Where a zone lies. */
typedef struct vector_view {
  const vector_zone *head;
  const unsigned char *nulls; /* NULL: no row is null, or all are */
  const unsigned char *data;  /* that of the encoding, at a multiple of 64; NULL: none */
} vector_view;

/* Finds a zone, and sets *count to its number of rows where rows is NULL. EINVAL: no such zone, a
 * chunk that is not of the right kind, or the last of the selected rows is none of the zone.
 * EBADMSG, ENOMEM: see oap_vector.h. */
int vector_look(oap_vector *vector, bool is_right_kind, uint32_t zone, const uint16_t *rows,
                uint32_t *count, vector_view *out);

/* The selected rows (NULL: all, and count is how many) of packed data, plus reference, as values of
 * 1 << shift bytes. values is not scratch of the reader. */
void vector_unpack_packed(const oap_vector *vector, const vector_view *view,
                          const unsigned char *packed, uint64_t reference, unsigned shift,
                          const uint16_t *rows, uint32_t count, void *values);

/* values[i] = from[rows[i]], of 1 << shift bytes. */
void vector_pick(unsigned shift, const void *from, const uint16_t *rows, uint32_t count,
                 void *values);

/* values[i] = value, of 1 << shift bytes. */
void vector_fill(unsigned shift, uint64_t value, uint32_t count, void *values);

/* Values of a zone of OAP_FREQUENCY. EBADMSG. */
int vector_unpack_frequency(const oap_vector *vector, const vector_view *view, const uint16_t *rows,
                            uint32_t count, void *values);

/* The number of the run that each row is in, to runs. EBADMSG. */
int vector_runs_of(const vector_view *view, const uint16_t *rows, uint32_t count, uint32_t *runs);

/* Values of a fixed width; like oap_vector_unpack without nulls. */
int vector_unpack_values(oap_vector *vector, const vector_view *view, const uint16_t *rows,
                         uint32_t count, void *values);

/* Dictionary codes, each checked, of a zone that has them. */
int vector_unpack_codes(oap_vector *vector, const vector_view *view, const uint16_t *rows,
                        uint32_t count, uint32_t *codes);

/* A byte per row, 1 where it is null; returns how many are. */
uint32_t vector_unpack_nulls(const oap_vector *vector, const vector_view *view,
                             const uint16_t *rows, uint32_t count, uint8_t *nulls);

static inline bool vector_zone_has_codes(const oap_vector *vector, const vector_zone *head) {
  return head->encoding == OAP_DICTIONARY ||
         (head->encoding == OAP_RUNS && vector->kind == OAP_BYTES);
}

/* Packed where the head has a width; else of the kind's width, or codes of 16 bits. */
static inline const unsigned char *vector_run_values(const vector_view *view) {
  return view->data + vector_round(2 * (uint64_t)view->head->count);
}

#endif
