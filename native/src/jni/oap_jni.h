/* What the files of the JNI library share. */
#ifndef OAP_JNI_H
#define OAP_JNI_H

#include <jni.h>
#include <stdint.h>

/* The natives of one Java class. */
typedef struct oap_natives {
  const char *class;
  const JNINativeMethod *methods;
  jint count;
} oap_natives;

extern const oap_natives oap_capacity_natives;
extern const oap_natives oap_tier_natives;
extern const oap_natives oap_vector_natives;

#define OAP_NATIVES(name, methods)                                                                 \
  { name, methods, sizeof(methods) / sizeof((methods)[0]) }

/* Java's long as a pointer of whatever type it is given to, and back. */
static inline void *oap_at(jlong address) { return (void *)(uintptr_t)address; }
static inline jlong oap_address(const void *pointer) { return (jlong)(uintptr_t)pointer; }

#endif
