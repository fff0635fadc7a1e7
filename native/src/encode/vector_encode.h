/* The bytes of one zone: see vector_encode.c. */
#ifndef OAP_VECTOR_ENCODE_H
#define OAP_VECTOR_ENCODE_H

#include "vector/vector_format.h"
#include "vector/vector_kernels.h"
#include "vector_dictionary.h"

/* A zone as it is built. payload is which rows are null, if that is needed, and then what belongs
 * to the encoding. While it is open whether the dictionary is kept, codes stands for the latter. */
typedef struct vector_built {
  vector_zone head;
  unsigned char *payload;
  uint16_t *codes;
  uint64_t coded_bytes;   /* that it takes with codes */
  uint64_t uncoded_bytes; /* that it takes otherwise */
} vector_built;

/* Values that are being encoded. Rows that are null have the value of a row near them. */
typedef struct vector_rows {
  enum oap_kind kind;
  uint32_t rows;
  int64_t number[OAP_ZONE_ROWS]; /* integers sign-extended, floats as their bits */
  const unsigned char *data[OAP_ZONE_ROWS];
  uint32_t length[OAP_ZONE_ROWS];
  uint8_t is_null[OAP_ZONE_ROWS];
  uint32_t code[OAP_ZONE_ROWS];
  union {
    uint32_t narrow[OAP_ZONE_ROWS];
    uint64_t wide[OAP_ZONE_ROWS];
  } packing;
} vector_rows;

/* The best encoding without dictionary, and what the zone's data take with it. */
typedef struct vector_choice {
  uint8_t encoding;
  uint8_t width;
  uint32_t count;     /* as in vector_zone */
  uint64_t reference; /* as in vector_zone */
  uint64_t common;    /* as in vector_zone */
  uint64_t bytes;
} vector_choice;

/* The zone's data take all of these. ENOMEM. Of the head, row and null counts and, of integers, the
 * bounds are there already. */
vector_choice vector_choose(const vector_kernels *kernels, const vector_rows *rows,
                            const vector_zone *head);
int vector_encode(const vector_kernels *kernels, vector_built *zone, vector_rows *rows,
                  const vector_choice *choice);

/* Choose and encode for codes, which stand in rows->code. */
vector_choice vector_choose_codes(const vector_rows *rows);
int vector_encode_codes(const vector_kernels *kernels, vector_built *zone, vector_rows *rows,
                        const vector_choice *choice);

#endif
