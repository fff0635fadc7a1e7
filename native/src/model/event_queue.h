/*
 * Events on their way to a capacity model: a bounded queue of many writers, which never wait, and
 * one reader at a time. The turn of a place says whether it may be written or read (Vyukov's
 * bounded queue).
 */
#ifndef OAP_EVENT_QUEUE_H
#define OAP_EVENT_QUEUE_H

#include "oap_capacity_model.h"

#include <stdatomic.h>

enum oap_event_kind { OAP_EVENT_ASK, OAP_EVENT_PUT, OAP_EVENT_DROP, OAP_EVENT_DROP_FILE };

typedef struct oap_event {
  uint64_t key[4]; /* as of the pool's encoded chunks */
  uint64_t bytes;
  uint64_t weight;
  enum oap_event_kind kind;
  enum oap_admission admission;
} oap_event;

typedef struct oap_event_place {
  _Atomic uint64_t turn; /* its number: may be written; one more: may be read */
  oap_event event;
} oap_event_place;

typedef struct oap_event_queue {
  _Alignas(64) _Atomic uint64_t written; /* events, by all who write */
  _Alignas(64) uint64_t read;            /* by the one who reads */
  _Atomic uint64_t lost;
  oap_event_place *places; /* OAP_ASKS_WAITING */
} oap_event_queue;

#define OAP_EVENT_QUEUE_BYTES (OAP_ASKS_WAITING * sizeof(oap_event_place))

/* On memory of OAP_EVENT_QUEUE_BYTES. */
void oap_event_queue_init(oap_event_queue *queue, void *memory);

/* False: the queue is full, and the event is lost. */
bool oap_event_queue_write(oap_event_queue *queue, const oap_event *event);

/* False: there is none, or its writer has not finished. */
bool oap_event_queue_read(oap_event_queue *queue, oap_event *event);

#endif
