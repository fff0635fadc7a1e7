/*
 * How one zone is laid out. The encoding is the one that takes the fewest bytes, but for some runs
 * (take_runs); where two take the same, the one that is faster to read. native/VECTOR-CHUNK.md
 * describes the encodings.
 */
#include "vector_encode.h"

#include <errno.h>
#include <stdlib.h>

#define SAMPLE_ROWS 64

static void take_if_smaller(vector_choice *best, vector_choice other) {
  if (other.bytes < best->bytes) {
    *best = other;
  }
}

/* Finds a value that most rows may have, by the vote of Boyer and Moore, in a sample of the rows:
 * most zones have none, and to ask all rows would cost as much as to encode them. A sample errs, so
 * a third of it is enough here; who counts all rows decides. */
static bool find_common(const vector_rows *rows, int64_t *common) {
  uint32_t step = rows->rows / SAMPLE_ROWS + 1, votes = 0, asked = 0, found = 0;
  for (uint32_t i = 0; i < rows->rows; i += step) {
    *common = votes == 0 ? rows->number[i] : *common;
    votes += rows->number[i] == *common ? 1 : UINT32_MAX;
  }
  for (uint32_t i = 0; i < rows->rows; i += step) {
    found += rows->number[i] == *common;
    asked++;
  }
  return found > asked / 3;
}

/* The one common value beside a bitmap and the others, if there are few of these. */
static vector_choice choose_frequency(const vector_rows *rows) {
  int64_t common = 0, least = INT64_MAX, greatest = INT64_MIN;
  uint32_t others = 0;
  if (!find_common(rows, &common)) {
    return (vector_choice){.bytes = UINT64_MAX};
  }
  for (uint32_t i = 0; i < rows->rows; i++) {
    int64_t number = rows->number[i];
    if (number != common) {
      least = number < least ? number : least;
      greatest = number > greatest ? number : greatest;
      others++;
    }
  }
  if (others > rows->rows / 2) {
    return (vector_choice){.bytes = UINT64_MAX};
  }
  unsigned width = vector_bits((uint64_t)greatest - (uint64_t)least);
  width = width == 0 ? 1 : width;
  return (vector_choice){.encoding = OAP_FREQUENCY,
                         .width = (uint8_t)width,
                         .count = others,
                         .reference = (uint64_t)least,
                         .common = (uint64_t)common,
                         .bytes =
                             vector_bitmap_bytes(rows->rows) + vector_packed_bytes(others, width)};
}

/* Packs the values of runs where that is smaller: a few runs do not fill a block. A zone of runs
 * takes several times as long to read as one of packed rows. So where only packed values make runs
 * smaller than the best so far, they have to save a quarter. Floats stay as they are: what packed
 * ones would save has not been measured. */
static void take_runs(vector_choice *best, enum oap_kind kind, uint32_t runs, unsigned width,
                      uint64_t least) {
  vector_choice full = {
      .encoding = OAP_RUNS, .count = runs, .bytes = vector_runs_bytes(kind, runs, 0)};
  vector_choice packed = {.encoding = OAP_RUNS,
                          .width = (uint8_t)width,
                          .count = runs,
                          .reference = least,
                          .bytes = vector_runs_bytes(kind, runs, width)};
  uint64_t saved = full.bytes < best->bytes ? 0 : best->bytes / 4;
  take_if_smaller(best, full);
  if (!vector_is_float(kind) && packed.bytes < best->bytes - saved) {
    *best = packed;
  }
}

static vector_choice choose_numbers(const vector_kernels *kernels, const vector_rows *rows,
                                    const vector_zone *head) {
  uint32_t size = 1u << vector_shift(rows->kind);
  int64_t least = head->minimum, greatest = head->maximum;
  if (vector_is_float(rows->kind)) { /* the head has them in another order */
    kernels->bounds(rows->number, rows->rows, &least, &greatest);
  }
  if (least == greatest) {
    return (vector_choice){.encoding = OAP_CONSTANT, .reference = (uint64_t)least};
  }
  vector_choice best = {.encoding = OAP_PLAIN, .bytes = (uint64_t)rows->rows * size};
  unsigned width = vector_bits((uint64_t)greatest - (uint64_t)least);
  take_if_smaller(&best, (vector_choice){.encoding = OAP_PACKED,
                                         .width = (uint8_t)width,
                                         .reference = (uint64_t)least,
                                         .bytes = vector_packed_bytes(rows->rows, width)});
  uint32_t runs = kernels->changes(rows->number, rows->rows) + 1;
  take_runs(&best, rows->kind, runs, width, (uint64_t)least);
  if (best.bytes > vector_bitmap_bytes(rows->rows)) {
    take_if_smaller(&best, choose_frequency(rows));
  }
  return best;
}

static bool are_same_bytes(const vector_rows *rows, uint32_t a, uint32_t b) {
  return rows->length[a] == rows->length[b] &&
         (rows->length[a] == 0 || memcmp(rows->data[a], rows->data[b], rows->length[a]) == 0);
}

static vector_choice choose_bytes(const vector_rows *rows, uint32_t nulls) {
  uint32_t same = 1;
  while (same < rows->rows && are_same_bytes(rows, same, same - 1)) {
    same++;
  }
  if (same == rows->rows) {
    return (vector_choice){
        .encoding = OAP_CONSTANT, .count = rows->length[0], .bytes = rows->length[0]};
  }
  uint64_t total = 0;
  bool have_one_length = true;
  for (uint32_t i = 0; i < rows->rows; i++) {
    total += nulls > 0 && rows->is_null[i] ? 0 : rows->length[i];
    have_one_length = have_one_length && rows->length[i] == rows->length[0];
  }
  unsigned width = vector_bits(total);
  vector_choice best = {.encoding = OAP_PLAIN,
                        .width = (uint8_t)width,
                        .count = (uint32_t)total,
                        .bytes = vector_packed_bytes(rows->rows, width) + total};
  uint64_t fixed = (uint64_t)rows->rows * rows->length[0];
  if (have_one_length && fixed <= VECTOR_MOST_ZONE_BYTES) {
    take_if_smaller(
        &best, (vector_choice){.encoding = OAP_PLAIN, .count = (uint32_t)fixed, .bytes = fixed});
  }
  return best;
}

vector_choice vector_choose(const vector_kernels *kernels, const vector_rows *rows,
                            const vector_zone *head) {
  if (head->nulls == rows->rows) {
    return (vector_choice){.encoding = OAP_CONSTANT};
  }
  return rows->kind == OAP_BYTES ? choose_bytes(rows, head->nulls)
                                 : choose_numbers(kernels, rows, head);
}

/* Makes room for the data behind the nulls and fills the head; NULL: no memory. */
static unsigned char *begin(vector_built *zone, const vector_choice *choice) {
  uint64_t nulls = vector_nulls_bytes(zone->head.rows, zone->head.nulls);
  zone->head.encoding = choice->encoding;
  zone->head.width = choice->width;
  zone->head.count = choice->count;
  zone->head.reference = choice->reference;
  zone->head.common = choice->common;
  zone->head.bytes = (uint32_t)(nulls + choice->bytes);
  unsigned char *payload = realloc(zone->payload, nulls + choice->bytes + 1);
  if (payload == NULL) {
    return NULL;
  }
  zone->payload = payload;
  return payload + nulls;
}

static void set_packing(vector_rows *rows, uint32_t width, uint32_t i, uint64_t value) {
  if (width <= 32) {
    rows->packing.narrow[i] = (uint32_t)value;
  } else {
    rows->packing.wide[i] = value;
  }
}

/* Packs so many wide or narrow values of packing; fills up the last block. */
static void pack(const vector_kernels *kernels, vector_rows *rows, uint32_t count, uint32_t width,
                 void *out) {
  uint32_t blocks = (count + VECTOR_BLOCK_ROWS - 1) / VECTOR_BLOCK_ROWS;
  for (uint32_t i = count; i < blocks * VECTOR_BLOCK_ROWS; i++) {
    set_packing(rows, width, i, 0);
  }
  if (width <= 32) {
    kernels->pack32(rows->packing.narrow, blocks, width, out);
  } else {
    kernels->pack64(rows->packing.wide, blocks, width, out);
  }
}

static void store_number(unsigned shift, unsigned char *out, uint32_t i, int64_t number) {
  memcpy(out + ((size_t)i << shift), &number, (size_t)1 << shift);
}

static void encode_plain(const vector_rows *rows, unsigned char *out) {
  unsigned shift = vector_shift(rows->kind);
  if (shift == 3) {
    memcpy(out, rows->number, rows->rows * sizeof(int64_t));
    return;
  }
  for (uint32_t i = 0; i < rows->rows; i++) {
    store_number(shift, out, i, rows->number[i]);
  }
}

static void encode_packed(const vector_kernels *kernels, vector_rows *rows,
                          const vector_choice *choice, unsigned char *out) {
  if (choice->width <= 32) {
    kernels->narrow(rows->number, rows->rows, choice->reference, rows->packing.narrow);
  } else {
    for (uint32_t i = 0; i < rows->rows; i++) {
      rows->packing.wide[i] = (uint64_t)rows->number[i] - choice->reference;
    }
  }
  pack(kernels, rows, rows->rows, choice->width, out);
}

static void encode_frequency(const vector_kernels *kernels, vector_rows *rows,
                             const vector_choice *choice, unsigned char *out) {
  uint64_t bitmap = vector_bitmap_bytes(rows->rows);
  memset(out, 0, bitmap);
  for (uint32_t i = 0, others = 0; i < rows->rows; i++) {
    if ((uint64_t)rows->number[i] != choice->common) {
      out[i / 8] |= (unsigned char)(1U << i % 8);
      set_packing(rows, choice->width, others++, (uint64_t)rows->number[i] - choice->reference);
    }
  }
  pack(kernels, rows, choice->count, choice->width, out + bitmap);
}

/* Of numbers; codes stand in their place. */
static void encode_runs(const vector_kernels *kernels, vector_rows *rows,
                        const vector_choice *choice, unsigned char *out) {
  size_t ends = 2 * (size_t)choice->count;
  unsigned char *values = out + vector_round(ends);
  unsigned shift = vector_run_shift(rows->kind);
  memset(out + ends, 0, (size_t)(values - out) - ends);
  for (uint32_t i = 0, run = 0; i < rows->rows; i++) {
    if (i + 1 == rows->rows || rows->number[i + 1] != rows->number[i]) {
      uint16_t end = (uint16_t)(i + 1);
      memcpy(out + 2 * (size_t)run, &end, sizeof(end));
      if (choice->width > 0) {
        set_packing(rows, choice->width, run++, (uint64_t)rows->number[i] - choice->reference);
      } else {
        store_number(shift, values, run++, rows->number[i]);
      }
    }
  }
  if (choice->width > 0) {
    pack(kernels, rows, choice->count, choice->width, values);
  }
}

static void encode_bytes(const vector_kernels *kernels, const vector_built *zone, vector_rows *rows,
                         const vector_choice *choice, unsigned char *out) {
  unsigned char *bytes = out + vector_packed_bytes(rows->rows, choice->width);
  uint32_t end = 0;
  for (uint32_t i = 0; i < rows->rows; i++) {
    /* A null row is empty, but takes its place where all have one length. */
    bool is_empty = zone->head.nulls > 0 && rows->is_null[i] && choice->width > 0;
    uint32_t length = is_empty ? 0 : rows->length[i];
    if (length > 0) {
      memcpy(bytes + end, rows->data[i], length);
    }
    end += length;
    rows->packing.narrow[i] = end;
  }
  if (choice->width > 0) {
    pack(kernels, rows, rows->rows, choice->width, out);
  }
}

int vector_encode(const vector_kernels *kernels, vector_built *zone, vector_rows *rows,
                  const vector_choice *choice) {
  unsigned char *out = begin(zone, choice);
  if (out == NULL) {
    return -ENOMEM;
  }
  if (choice->encoding == OAP_CONSTANT) {
    if (choice->bytes > 0) {
      memcpy(out, rows->data[0], choice->bytes);
    }
  } else if (rows->kind == OAP_BYTES) {
    encode_bytes(kernels, zone, rows, choice, out);
  } else if (choice->encoding == OAP_PACKED) {
    encode_packed(kernels, rows, choice, out);
  } else if (choice->encoding == OAP_FREQUENCY) {
    encode_frequency(kernels, rows, choice, out);
  } else if (choice->encoding == OAP_RUNS) {
    encode_runs(kernels, rows, choice, out);
  } else {
    encode_plain(rows, out);
  }
  return 0;
}

vector_choice vector_choose_codes(const vector_rows *rows) {
  uint32_t least = rows->code[0], greatest = rows->code[0], runs = 1;
  for (uint32_t i = 1; i < rows->rows; i++) {
    least = rows->code[i] < least ? rows->code[i] : least;
    greatest = rows->code[i] > greatest ? rows->code[i] : greatest;
    runs += rows->code[i] != rows->code[i - 1];
  }
  unsigned width = vector_bits(greatest - least);
  vector_choice best = {.encoding = OAP_DICTIONARY,
                        .width = (uint8_t)width,
                        .reference = least,
                        .bytes = vector_packed_bytes(rows->rows, width)};
  if (rows->kind == OAP_BYTES) {
    take_runs(&best, rows->kind, runs, width, least);
  }
  return best;
}

int vector_encode_codes(const vector_kernels *kernels, vector_built *zone, vector_rows *rows,
                        const vector_choice *choice) {
  unsigned char *out = begin(zone, choice);
  if (out == NULL) {
    return -ENOMEM;
  }
  if (choice->encoding == OAP_DICTIONARY) {
    for (uint32_t i = 0; i < rows->rows; i++) {
      rows->packing.narrow[i] = rows->code[i] - (uint32_t)choice->reference;
    }
    pack(kernels, rows, rows->rows, choice->width, out);
    return 0;
  }
  for (uint32_t i = 0; i < rows->rows; i++) {
    rows->number[i] = rows->code[i];
  }
  encode_runs(kernels, rows, choice, out);
  return 0;
}
