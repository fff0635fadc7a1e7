/*
 * Vector chunks for Java: the natives of io.oap.cache.vector.NativeVector, registered by
 * oap_jni.c when the library is loaded. Nothing here decides anything. Encoders, chunks and key
 * sets are their address as a long, memory is addresses that Java lends, and results are those of
 * oap_vector.h, or a negative errno.
 */
#include "oap_vector.h"

#include "oap_jni.h"

#include <errno.h>
#include <stdlib.h>

static jlong native_address(JNIEnv *env, jclass class, jobject buffer) {
  return oap_address((*env)->GetDirectBufferAddress(env, buffer));
}

static jstring native_kernels(JNIEnv *env, jclass class) {
  return (*env)->NewStringUTF(env, oap_vector_kernels());
}

/* Pieces come as address and length in turn. */
typedef struct pieces {
  unsigned char *data[OAP_VECTOR_MOST_PIECES];
  uint64_t bytes[OAP_VECTOR_MOST_PIECES];
  uint32_t count;
} pieces;

static int take_pieces(JNIEnv *env, jlongArray places, pieces *out) {
  jsize length = (*env)->GetArrayLength(env, places);
  if (length % 2 != 0 || length > 2 * OAP_VECTOR_MOST_PIECES) {
    return -EINVAL;
  }
  jlong numbers[2 * OAP_VECTOR_MOST_PIECES];
  (*env)->GetLongArrayRegion(env, places, 0, length, numbers);
  out->count = (uint32_t)length / 2;
  for (uint32_t i = 0; i < out->count; i++) {
    out->data[i] = oap_at(numbers[2 * i]);
    out->bytes[i] = (uint64_t)numbers[2 * i + 1];
  }
  return 0;
}

static jlong encoder_open(JNIEnv *env, jclass class, jint kind) {
  oap_vector_encoder *encoder;
  int result = oap_vector_encoder_open((enum oap_kind)kind, &encoder);
  return result != 0 ? result : oap_address(encoder);
}

static void encoder_close(JNIEnv *env, jclass class, jlong encoder) {
  oap_vector_encoder_close(oap_at(encoder));
}

static jint encoder_add(JNIEnv *env, jclass class, jlong encoder, jlong values, jlong nulls,
                        jint rows) {
  return oap_vector_encoder_add(oap_at(encoder), oap_at(values), oap_at(nulls), (uint32_t)rows);
}

static jint encoder_add_bytes(JNIEnv *env, jclass class, jlong encoder, jlong addresses,
                              jlong lengths, jlong nulls, jint rows) {
  return oap_vector_encoder_add_bytes(oap_at(encoder), oap_at(addresses), oap_at(lengths),
                                      oap_at(nulls), (uint32_t)rows);
}

static jint encoder_add_ids(JNIEnv *env, jclass class, jlong encoder, jlong ids, jlong nulls,
                            jint rows) {
  return oap_vector_encoder_add_ids(oap_at(encoder), oap_at(ids), oap_at(nulls), (uint32_t)rows);
}

static void encoder_learn(JNIEnv *env, jclass class, jlong encoder, jlong ids) {
  oap_vector_encoder_learn(oap_at(encoder), oap_at(ids));
}

static jlong encoder_finish(JNIEnv *env, jclass class, jlong encoder) {
  uint64_t bytes;
  int result = oap_vector_encoder_finish(oap_at(encoder), &bytes);
  return result != 0 ? result : (jlong)bytes;
}

static jint encoder_write(JNIEnv *env, jclass class, jlong encoder, jlongArray places) {
  pieces to;
  int result = take_pieces(env, places, &to);
  return result != 0 ? result
                     : oap_vector_encoder_write(oap_at(encoder), to.data, to.bytes, to.count);
}

static jlong encoder_memory(JNIEnv *env, jclass class, jlong encoder) {
  return (jlong)oap_vector_encoder_memory(oap_at(encoder));
}

static jlong chunk_open(JNIEnv *env, jclass class, jlongArray places) {
  pieces from;
  oap_vector *vector;
  int result = take_pieces(env, places, &from);
  if (result == 0) {
    result =
        oap_vector_open((const unsigned char *const *)from.data, from.bytes, from.count, &vector);
  }
  return result != 0 ? result : oap_address(vector);
}

static jlong decoded_open(JNIEnv *env, jclass class, jint kind) {
  oap_vector *vector;
  int result = oap_vector_open_decoded((enum oap_kind)kind, &vector);
  return result != 0 ? result : oap_address(vector);
}

static jint decoded_set(JNIEnv *env, jclass class, jlong vector, jlong values, jlong nulls,
                        jint rows) {
  return oap_vector_set_decoded(oap_at(vector), oap_at(values), oap_at(nulls), (uint32_t)rows);
}

static void chunk_close(JNIEnv *env, jclass class, jlong vector) {
  oap_vector_close(oap_at(vector));
}

static jint chunk_kind(JNIEnv *env, jclass class, jlong vector) {
  return (jint)oap_vector_kind(oap_at(vector));
}

static jint chunk_rows(JNIEnv *env, jclass class, jlong vector) {
  return (jint)oap_vector_rows(oap_at(vector));
}

static jint dictionary_entries(JNIEnv *env, jclass class, jlong vector) {
  return (jint)oap_vector_dictionary_entries(oap_at(vector));
}

/* Java has checked that there is such a zone. */
static oap_zone zone_of(jlong vector, jint zone) {
  oap_zone out = {.rows = 0};
  (void)oap_vector_zone(oap_at(vector), (uint32_t)zone, &out);
  return out;
}

static jlong zone_minimum(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return zone_of(vector, zone).minimum;
}

static jlong zone_maximum(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return zone_of(vector, zone).maximum;
}

static jint zone_nulls(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return (jint)zone_of(vector, zone).nulls;
}

static jint zone_encoding(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return (jint)zone_of(vector, zone).encoding;
}

static jint zone_width(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return (jint)zone_of(vector, zone).width;
}

static jlong zone_bytes(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return (jlong)zone_of(vector, zone).bytes;
}

static jboolean has_codes(JNIEnv *env, jclass class, jlong vector, jint zone) {
  return oap_vector_has_codes(oap_at(vector), (uint32_t)zone) == 1;
}

static jint unpack(JNIEnv *env, jclass class, jlong vector, jint zone, jlong rows, jint count,
                   jlong values, jlong nulls) {
  return oap_vector_unpack(oap_at(vector), (uint32_t)zone, oap_at(rows), (uint32_t)count,
                           oap_at(values), oap_at(nulls));
}

static jint unpack_bytes(JNIEnv *env, jclass class, jlong vector, jint zone, jlong rows, jint count,
                         jlong addresses, jlong lengths, jlong nulls) {
  return oap_vector_unpack_bytes(oap_at(vector), (uint32_t)zone, oap_at(rows), (uint32_t)count,
                                 oap_at(addresses), oap_at(lengths), oap_at(nulls));
}

static jint dictionary(JNIEnv *env, jclass class, jlong vector, jlong values) {
  return oap_vector_dictionary(oap_at(vector), oap_at(values));
}

static jint dictionary_bytes(JNIEnv *env, jclass class, jlong vector, jlong addresses,
                             jlong lengths) {
  return oap_vector_dictionary_bytes(oap_at(vector), oap_at(addresses), oap_at(lengths));
}

static jint decide_in(JNIEnv *env, jclass class, jlong vector, jint zone, jlong set) {
  return oap_vector_decide_in(oap_at(vector), (uint32_t)zone, oap_at(set));
}

static jint decide_range(JNIEnv *env, jclass class, jlong vector, jint zone, jlong low,
                         jlong high) {
  return oap_vector_decide_range(oap_at(vector), (uint32_t)zone, low, high);
}

static oap_double_range range_of(jdouble low, jboolean low_is_open, jdouble high,
                                 jboolean high_is_open) {
  return (oap_double_range){
      .low = low,
      .high = high,
      .low_is_open = low_is_open,
      .high_is_open = high_is_open,
  };
}

static jint decide_doubles(JNIEnv *env, jclass class, jlong vector, jint zone, jdouble low,
                           jboolean low_is_open, jdouble high, jboolean high_is_open) {
  oap_double_range range = range_of(low, low_is_open, high, high_is_open);
  return oap_vector_decide_double_range(oap_at(vector), (uint32_t)zone, &range);
}

static jint decide_prefix(JNIEnv *env, jclass class, jlong vector, jint zone, jlong low,
                          jlong high) {
  return oap_vector_decide_prefix(oap_at(vector), (uint32_t)zone, (uint64_t)low, (uint64_t)high);
}

static jint select_in(JNIEnv *env, jclass class, jlong vector, jint zone, jlong set, jlong rows,
                      jint count, jlong out) {
  return oap_vector_select_in(oap_at(vector), (uint32_t)zone, oap_at(set), oap_at(rows),
                              (uint32_t)count, oap_at(out));
}

static jint select_range(JNIEnv *env, jclass class, jlong vector, jint zone, jlong low, jlong high,
                         jlong rows, jint count, jlong out) {
  return oap_vector_select_range(oap_at(vector), (uint32_t)zone, low, high, oap_at(rows),
                                 (uint32_t)count, oap_at(out));
}

static jint select_doubles(JNIEnv *env, jclass class, jlong vector, jint zone, jdouble low,
                           jboolean low_is_open, jdouble high, jboolean high_is_open, jlong rows,
                           jint count, jlong out) {
  oap_double_range range = range_of(low, low_is_open, high, high_is_open);
  return oap_vector_select_double_range(oap_at(vector), (uint32_t)zone, &range, oap_at(rows),
                                        (uint32_t)count, oap_at(out));
}

static jint select_codes(JNIEnv *env, jclass class, jlong vector, jint zone, jlong matches,
                         jlong rows, jint count, jlong out) {
  return oap_vector_select_codes(oap_at(vector), (uint32_t)zone, oap_at(matches), oap_at(rows),
                                 (uint32_t)count, oap_at(out));
}

static jint select_null(JNIEnv *env, jclass class, jlong vector, jint zone, jboolean is_null,
                        jlong rows, jint count, jlong out) {
  return oap_vector_select_null(oap_at(vector), (uint32_t)zone, is_null, oap_at(rows),
                                (uint32_t)count, oap_at(out));
}

static jlong key_set_open(JNIEnv *env, jclass class, jlongArray keys) {
  jsize count = (*env)->GetArrayLength(env, keys);
  jlong *copy = malloc(((size_t)count + 1) * sizeof(*copy));
  if (copy == NULL) {
    return -ENOMEM;
  }
  (*env)->GetLongArrayRegion(env, keys, 0, count, copy);
  oap_key_set *set;
  int result = oap_key_set_open((const int64_t *)copy, (uint64_t)count, &set);
  free(copy);
  return result != 0 ? result : oap_address(set);
}

static void key_set_close(JNIEnv *env, jclass class, jlong set) { oap_key_set_close(oap_at(set)); }

static jlong key_set_size(JNIEnv *env, jclass class, jlong set) {
  return (jlong)oap_key_set_size(oap_at(set));
}

static jlong key_set_minimum(JNIEnv *env, jclass class, jlong set) {
  return oap_key_set_minimum(oap_at(set));
}

static jlong key_set_maximum(JNIEnv *env, jclass class, jlong set) {
  return oap_key_set_maximum(oap_at(set));
}

static jlong key_set_memory(JNIEnv *env, jclass class, jlong set) {
  return (jlong)oap_key_set_memory(oap_at(set));
}

static jboolean key_set_meets(JNIEnv *env, jclass class, jlong set, jlong low, jlong high) {
  return oap_key_set_meets(oap_at(set), low, high);
}

static const JNINativeMethod methods[] = {
    {"address", "(Ljava/nio/ByteBuffer;)J", (void *)native_address},
    {"kernels", "()Ljava/lang/String;", (void *)native_kernels},
    {"encoderOpen", "(I)J", (void *)encoder_open},
    {"encoderClose", "(J)V", (void *)encoder_close},
    {"encoderAdd", "(JJJI)I", (void *)encoder_add},
    {"encoderAddBytes", "(JJJJI)I", (void *)encoder_add_bytes},
    {"encoderAddIds", "(JJJI)I", (void *)encoder_add_ids},
    {"encoderLearn", "(JJ)V", (void *)encoder_learn},
    {"encoderFinish", "(J)J", (void *)encoder_finish},
    {"encoderWrite", "(J[J)I", (void *)encoder_write},
    {"encoderMemory", "(J)J", (void *)encoder_memory},
    {"open", "([J)J", (void *)chunk_open},
    {"openDecoded", "(I)J", (void *)decoded_open},
    {"setDecoded", "(JJJI)I", (void *)decoded_set},
    {"close", "(J)V", (void *)chunk_close},
    {"kind", "(J)I", (void *)chunk_kind},
    {"rows", "(J)I", (void *)chunk_rows},
    {"dictionaryEntries", "(J)I", (void *)dictionary_entries},
    {"zoneMinimum", "(JI)J", (void *)zone_minimum},
    {"zoneMaximum", "(JI)J", (void *)zone_maximum},
    {"zoneNulls", "(JI)I", (void *)zone_nulls},
    {"zoneEncoding", "(JI)I", (void *)zone_encoding},
    {"zoneWidth", "(JI)I", (void *)zone_width},
    {"zoneBytes", "(JI)J", (void *)zone_bytes},
    {"hasCodes", "(JI)Z", (void *)has_codes},
    {"unpack", "(JIJIJJ)I", (void *)unpack},
    {"unpackBytes", "(JIJIJJJ)I", (void *)unpack_bytes},
    {"dictionary", "(JJ)I", (void *)dictionary},
    {"dictionaryBytes", "(JJJ)I", (void *)dictionary_bytes},
    {"decideIn", "(JIJ)I", (void *)decide_in},
    {"decideRange", "(JIJJ)I", (void *)decide_range},
    {"decideDoubles", "(JIDZDZ)I", (void *)decide_doubles},
    {"decidePrefix", "(JIJJ)I", (void *)decide_prefix},
    {"selectIn", "(JIJJIJ)I", (void *)select_in},
    {"selectRange", "(JIJJJIJ)I", (void *)select_range},
    {"selectDoubles", "(JIDZDZJIJ)I", (void *)select_doubles},
    {"selectCodes", "(JIJJIJ)I", (void *)select_codes},
    {"selectNull", "(JIZJIJ)I", (void *)select_null},
    {"keySetOpen", "([J)J", (void *)key_set_open},
    {"keySetClose", "(J)V", (void *)key_set_close},
    {"keySetSize", "(J)J", (void *)key_set_size},
    {"keySetMinimum", "(J)J", (void *)key_set_minimum},
    {"keySetMaximum", "(J)J", (void *)key_set_maximum},
    {"keySetMemory", "(J)J", (void *)key_set_memory},
    {"keySetMeets", "(JJJ)Z", (void *)key_set_meets},
};

const oap_natives oap_vector_natives = OAP_NATIVES("io/oap/cache/vector/NativeVector", methods);
