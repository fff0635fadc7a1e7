/* Random columns for tests of vector chunks, and chunks of them that lie in random pieces. */
#ifndef OAP_VECTOR_MODEL_H
#define OAP_VECTOR_MODEL_H

#include "check.h"
#include "oap_vector.h"

typedef struct column {
  enum oap_kind kind;
  uint32_t rows;
  unsigned char *values; /* fixed width: as they are added */
  int64_t *addresses;    /* BYTES */
  int32_t *lengths;
  unsigned char *bytes;
  uint8_t *nulls; /* a byte per row */
} column;

typedef struct chunk {
  unsigned char *memory; /* of all pieces, with gaps between */
  uint64_t bytes;
  uint32_t pieces;
  unsigned char *piece[OAP_VECTOR_MOST_PIECES];
  uint64_t piece_bytes[OAP_VECTOR_MOST_PIECES];
} chunk;

unsigned column_size(enum oap_kind kind); /* bytes of a value; 0: BYTES */
column column_random(uint64_t *random, enum oap_kind kind, uint32_t rows);
void column_free(column *c);

/* The value of a row that is not null; floats widened. */
int64_t column_integer(const column *c, uint32_t row);
double column_double(const column *c, uint32_t row);

/* Adds rows of it as a zone. */
void column_add(const column *c, oap_vector_encoder *encoder, uint32_t from, uint32_t rows);

/* Encodes all of it, into that many pieces or less. */
chunk chunk_encode(uint64_t *random, const column *c, uint32_t pieces);
void chunk_free(chunk *c);
int chunk_open(const chunk *c, oap_vector **out);

/* An ascending selection of rows below a bound; returns how many. */
uint32_t selection_random(uint64_t *random, uint32_t rows, uint16_t *selection);

#endif
