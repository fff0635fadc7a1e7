/*
 * The vector representation of a column chunk: values of one flat column in zones of 4096 rows,
 * each packed its own way with its own null count, minimum and maximum, so that a scan passes over
 * zones without a candidate, tests packed values in place and unpacks only the rows that survive.
 * The layout of the bytes is specified in native/VECTOR-CHUNK.md.
 *
 *   writing   oap_vector_encoder_open, _add (a zone each), _finish (how many bytes), _write, _close
 *   reading   oap_vector_open (over the pieces of a pinned chunk), _zone, _unpack, _close
 *   decoded   oap_vector_open_decoded (no chunk), _set_decoded (a zone), and filters over it
 *   filters   oap_vector_decide_* (by minimum and maximum), oap_vector_select_* (row by row)
 *
 * Row numbers are counted within a zone, from 0. A selection is an ascending array of them; where
 * one is asked for, NULL stands for all rows of the zone.
 *
 * Threads: an encoder, and a chunk opened for reading, is used by one thread at a time. Any number
 * of threads may open the same bytes, and a key set may be shared by all. Nothing is static.
 *
 * Errors: functions return a negative errno, listed with each; ENOMEM is possible where a function
 * allocates. EBADMSG: the bytes are no chunk of this version. A chunk is checked when it is opened,
 * and what costs time with its values: whatever the bytes are, nothing outside of the pieces is
 * read. But only bytes that an encoder has written give right answers.
 */
#ifndef OAP_VECTOR_H
#define OAP_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OAP_ZONE_ROWS 4096
#define OAP_MOST_DICTIONARY 65536 /* entries */
#define OAP_VECTOR_MOST_PIECES 4

/* How values lie in memory. The numbers stand in chunks. */
enum oap_kind {
  OAP_I8 = 1,
  OAP_I16 = 2,
  OAP_I32 = 3,
  OAP_I64 = 4,
  OAP_F32 = 5,
  OAP_F64 = 6,
  OAP_BYTES = 7 /* any number of bytes each */
};

enum oap_encoding {
  OAP_CONSTANT = 0,   /* all values are the same, or there are none */
  OAP_PACKED = 1,     /* frame of reference: differences from the least value, bit-packed */
  OAP_RUNS = 2,       /* run-length, bit-packed if many; runs of BYTES are of dictionary codes */
  OAP_DICTIONARY = 3, /* codes of the chunk's dictionary, bit-packed */
  OAP_PLAIN = 4,
  OAP_FREQUENCY = 5 /* most values are the same; a bitmap tells the others, bit-packed */
};

typedef struct oap_vector_encoder oap_vector_encoder;
typedef struct oap_vector oap_vector;
typedef struct oap_key_set oap_key_set;

/* ---- Writing ---- */

/* EINVAL: no such kind. */
int oap_vector_encoder_open(enum oap_kind kind, oap_vector_encoder **out);

/* Adds a zone of fixed-width values. Every zone has OAP_ZONE_ROWS rows, the last one perhaps less,
 * but at least 1. values is rows values of the kind's width, at their natural alignment; nulls is a
 * byte per row, not 0 where the row is null, or NULL when none is. Both are read during the call
 * only. What stands in values at a null row does not matter.
 * EINVAL: rows out of range, a zone after a short one, the kind is BYTES, or finished. EFBIG: more
 * than 2^31 - 1 rows. */
int oap_vector_encoder_add(oap_vector_encoder *encoder, const void *values, const uint8_t *nulls,
                           uint32_t rows);

/* Adds a zone of BYTES: row i is lengths[i] bytes at address addresses[i]; neither matters at a
 * null row, nor the address of an empty value. EFBIG also: a zone of more than 1 GiB. EINVAL also:
 * a negative length. After an error of either function the encoder can only be closed. */
int oap_vector_encoder_add_bytes(oap_vector_encoder *encoder, const int64_t *addresses,
                                 const int32_t *lengths, const uint8_t *nulls, uint32_t rows);

/* Adds a zone of any kind, for a column that was decoded from a dictionary: by the numbers of its
 * entries, so that nothing has to be looked up row by row before. The number at a null row does not
 * matter. Returns 1, and then nothing was added, when the value of an entry is not known: then the
 * zone is added by values, and the encoder learns from it. Errors as above. */
int oap_vector_encoder_add_ids(oap_vector_encoder *encoder, const uint32_t *ids,
                               const uint8_t *nulls, uint32_t rows);

/* Says which numbers the rows have whose values are added next, so that that call learns what the
 * entries are; ids is read then. Gives up, and add_ids always returns 1, where a dictionary has new
 * entries in many zones. */
void oap_vector_encoder_learn(oap_vector_encoder *encoder, const uint32_t *ids);

/* Decides what is open and gives the chunk's length. Nothing can be added any more. */
int oap_vector_encoder_finish(oap_vector_encoder *encoder, uint64_t *bytes);

/* Writes the finished chunk into pieces, one behind the other. May be called more than once. Each
 * piece but the last has a multiple of 64 bytes, as the pool's have. EINVAL: not finished, or the
 * pieces do not have exactly the chunk's length. */
int oap_vector_encoder_write(const oap_vector_encoder *encoder, unsigned char *const *pieces,
                             const uint64_t *piece_bytes, uint32_t count);

/* Memory that the encoder holds, in bytes; stays near the length of the finished chunk. */
uint64_t oap_vector_encoder_memory(const oap_vector_encoder *encoder);

void oap_vector_encoder_close(oap_vector_encoder *encoder);

/* ---- Reading ---- */

/* Opens a chunk that lies in count pieces (1 to 4), each at a multiple of 64 bytes in memory and,
 * but for the last, a multiple of 64 bytes long. The pieces must stay, unchanged, until close.
 * What crosses from one piece into the next is copied when needed; everything else is read in
 * place. EINVAL: the pieces are not like that. EBADMSG. ENOMEM. */
int oap_vector_open(const unsigned char *const *pieces, const uint64_t *piece_bytes, uint32_t count,
                    oap_vector **out);
void oap_vector_close(oap_vector *vector);

/* A reader over rows that were decoded elsewhere, so that they can be filtered as chunks are: zone
 * 0 is the rows set last, and there is none before. Its minimum and maximum are those of the kind.
 * EINVAL: no such kind, or BYTES. */
int oap_vector_open_decoded(enum oap_kind kind, oap_vector **out);

/* Copies values and nulls as oap_vector_encoder_add takes them, 1 to OAP_ZONE_ROWS rows. EINVAL:
 * another number of rows, or a reader of a chunk. */
int oap_vector_set_decoded(oap_vector *vector, const void *values, const uint8_t *nulls,
                           uint32_t rows);

enum oap_kind oap_vector_kind(const oap_vector *vector);
uint32_t oap_vector_rows(const oap_vector *vector);
uint32_t oap_vector_zones(const oap_vector *vector);
uint32_t oap_vector_dictionary_entries(const oap_vector *vector); /* 0: it has none */

/* What is known of a zone without touching its values.
 * minimum and maximum, over the values that are not null: integers as they are; F32 and F64 as the
 * bits of a double in Spark's order, where NaN is the greatest and -0.0 equals 0.0 (canonical NaN
 * and 0.0 are what stands here); BYTES as the first 8 bytes, padded with zeros, as an unsigned
 * big-endian number. Both 0 when all rows are null. */
typedef struct oap_zone {
  int64_t minimum;
  int64_t maximum;
  uint32_t rows;
  uint32_t nulls;
  uint32_t encoding; /* enum oap_encoding */
  uint32_t width;    /* bits of a packed value; 0 where nothing is packed */
  uint64_t bytes;    /* of the zone's payload */
} oap_zone;

/* EINVAL: no such zone. */
int oap_vector_zone(const oap_vector *vector, uint32_t zone, oap_zone *out);

/* Unpacks the selected rows of a zone (rows == NULL: all of them, count is ignored) one behind the
 * other to values, and for each a byte to nulls, 1 where the row is null; nulls may be NULL. The
 * value of a null row is any. To put several zones into one batch, give addresses inside of it.
 * Returns how many of the rows are null.
 * EINVAL: no such zone, the kind is BYTES, or rows the zone doesn't have. EBADMSG. ENOMEM. */
int oap_vector_unpack(oap_vector *vector, uint32_t zone, const uint16_t *rows, uint32_t count,
                      void *values, uint8_t *nulls);

/* Unpacks BYTES: addresses and lengths of the values, which lie in the pieces, or in memory of
 * this reader where they cross from one piece to the next; they are good until it is closed and the
 * chunk unpinned. A null row has some address and some length, which may be read. */
int oap_vector_unpack_bytes(oap_vector *vector, uint32_t zone, const uint16_t *rows, uint32_t count,
                            int64_t *addresses, int32_t *lengths, uint8_t *nulls);

/* The entries of the chunk's dictionary, in the order of their codes: values of the kind's width to
 * values; or for BYTES, addresses and lengths as above. EINVAL: wrong kind. */
int oap_vector_dictionary(const oap_vector *vector, void *values);
int oap_vector_dictionary_bytes(const oap_vector *vector, int64_t *addresses, int32_t *lengths);

/* ---- Filters ---- */

/* A prepared set of integers for IN: a range where they are without gaps, a bitmap where they lie
 * close enough, else a hash table. keys need not be sorted or distinct, and may be none. */
int oap_key_set_open(const int64_t *keys, uint64_t count, oap_key_set **out);
void oap_key_set_close(oap_key_set *set);
uint64_t oap_key_set_size(const oap_key_set *set);   /* distinct keys */
int64_t oap_key_set_minimum(const oap_key_set *set); /* 0 when empty */
int64_t oap_key_set_maximum(const oap_key_set *set);
uint64_t oap_key_set_memory(const oap_key_set *set); /* bytes */

/* Whether any key lies between two values, both included; for the minimum and maximum of a file or
 * a row group. */
bool oap_key_set_meets(const oap_key_set *set, int64_t minimum, int64_t maximum);

enum oap_decision {
  OAP_NONE = 0, /* no row of the zone matches: pass over it */
  OAP_ALL = 1,  /* every row matches: the filter need not run */
  OAP_SOME = 2  /* to be seen row by row */
};

/* A range of floating-point values in Spark's order; an open end is not part of it. From negative
 * infinity to NaN is everything. Bounds of a float column are widened to double. */
typedef struct oap_double_range {
  double low;
  double high;
  bool low_is_open;
  bool high_is_open;
} oap_double_range;

/* What the zone's minimum, maximum and null count decide, without touching its values. Rows that
 * are null never match. in and range are for the integer kinds, with low > high for no value;
 * double_range for F32 and F64; prefix, for BYTES, is about values whose first 8 bytes, as in
 * oap_zone, lie between two unsigned numbers, and never answers OAP_ALL but where every one of them
 * does. EINVAL: no such zone, wrong kind. */
int oap_vector_decide_in(const oap_vector *vector, uint32_t zone, const oap_key_set *set);
int oap_vector_decide_range(const oap_vector *vector, uint32_t zone, int64_t low, int64_t high);
int oap_vector_decide_double_range(const oap_vector *vector, uint32_t zone,
                                   const oap_double_range *range);
int oap_vector_decide_prefix(const oap_vector *vector, uint32_t zone, uint64_t low, uint64_t high);

/* Which of the rows given (NULL: all; count is ignored then) match. Writes them to out, which has
 * room for as many as are given and may be the same array as rows; returns how many they are. Rows
 * that are null never match. Decides by minimum and maximum first.
 * EINVAL: no such zone, wrong kind, or rows the zone doesn't have. EBADMSG. ENOMEM. */
int oap_vector_select_in(oap_vector *vector, uint32_t zone, const oap_key_set *set,
                         const uint16_t *rows, uint32_t count, uint16_t *out);
int oap_vector_select_range(oap_vector *vector, uint32_t zone, int64_t low, int64_t high,
                            const uint16_t *rows, uint32_t count, uint16_t *out);
int oap_vector_select_double_range(oap_vector *vector, uint32_t zone, const oap_double_range *range,
                                   const uint16_t *rows, uint32_t count, uint16_t *out);

/* By dictionary code, for any kind: matches is one byte per entry of the chunk's dictionary, not 0
 * where it matches; the caller has evaluated his predicate once per entry. EINVAL also: the zone
 * has no codes (oap_vector_has_codes). */
int oap_vector_select_codes(oap_vector *vector, uint32_t zone, const uint8_t *matches,
                            const uint16_t *rows, uint32_t count, uint16_t *out);

/* Whether the zone's values are dictionary codes. EINVAL: no such zone. */
int oap_vector_has_codes(const oap_vector *vector, uint32_t zone);

/* The rows that are null, or those that are not; for any kind. */
int oap_vector_select_null(oap_vector *vector, uint32_t zone, bool is_null, const uint16_t *rows,
                           uint32_t count, uint16_t *out);

/* Name of the kernels that this processor gets: "portable", "avx2" or "avx512". */
const char *oap_vector_kernels(void);

#ifdef __cplusplus
}
#endif

#endif
