/* The part of the JNI library that capacity models are, for JNI_OnLoad in oap_jni.c. */
#ifndef OAP_CAPACITY_JNI_H
#define OAP_CAPACITY_JNI_H

#include <jni.h>
#include <stdbool.h>

/* Registers the natives; false, with an exception pending, when Java has other ones. */
bool oap_capacity_register(JNIEnv *env);

#endif
