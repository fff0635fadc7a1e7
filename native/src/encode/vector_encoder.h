/* A chunk while it is encoded; shared by the files that encode. */
#ifndef OAP_VECTOR_ENCODER_H
#define OAP_VECTOR_ENCODER_H

#include "vector_encode.h"
#include "vector_source.h"

struct oap_vector_encoder {
  const vector_kernels *kernels;
  vector_rows rows;
  vector_dictionary dictionary;
  vector_source source;
  const uint32_t *next_ids; /* of the zone that is added next, to learn from */
  vector_built *zones;
  uint32_t zone_count;
  uint32_t zone_room;
  uint32_t tried_zones; /* for which codes were looked up before anything was decided */
  bool is_kept;         /* the dictionary is part of the chunk */
  bool is_finished;
  bool has_failed;
  uint64_t row_count;
  uint64_t dictionary_offset;
  uint64_t bytes; /* of the finished chunk */
};

/* Encodes the last zone, whose rows stand in rows. ENOMEM. */
int vector_encode_zone(oap_vector_encoder *encoder);

/* Decides whether the dictionary is kept, unless that is done, and encodes the zones that waited
 * for it. ENOMEM. */
int vector_choose_dictionary(oap_vector_encoder *encoder);

/* Bytes of the dictionary in the chunk. */
uint64_t vector_dictionary_bytes_of(const oap_vector_encoder *encoder);

#endif
