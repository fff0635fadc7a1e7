/* The part of the JNI library that vector chunks are, for JNI_OnLoad in oap_jni.c. */
#ifndef OAP_VECTOR_JNI_H
#define OAP_VECTOR_JNI_H

#include <jni.h>
#include <stdbool.h>

/* Registers the natives; false, with an exception pending, when Java has other ones. */
bool oap_vector_register(JNIEnv *env);

#endif
