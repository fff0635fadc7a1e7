/* The queue of events: see event_queue.h. */
#include "event_queue.h"

static oap_event_place *place_of(const oap_event_queue *queue, uint64_t number) {
  return &queue->places[number % OAP_ASKS_WAITING];
}

void oap_event_queue_init(oap_event_queue *queue, void *memory) {
  *queue = (oap_event_queue){.places = memory};
  for (uint64_t i = 0; i < OAP_ASKS_WAITING; i++) {
    atomic_init(&queue->places[i].turn, i);
  }
}

bool oap_event_queue_write(oap_event_queue *queue, const oap_event *event) {
  uint64_t number = atomic_load_explicit(&queue->written, memory_order_relaxed);
  for (;;) {
    oap_event_place *place = place_of(queue, number);
    uint64_t turn = atomic_load_explicit(&place->turn, memory_order_acquire);
    if (turn == number) {
      if (atomic_compare_exchange_weak_explicit(&queue->written, &number, number + 1,
                                                memory_order_relaxed, memory_order_relaxed)) {
        place->event = *event;
        atomic_store_explicit(&place->turn, number + 1, memory_order_release);
        return true;
      }
    } else if (turn < number) { /* of the last round: not read yet */
      atomic_fetch_add_explicit(&queue->lost, 1, memory_order_relaxed);
      return false;
    } else {
      number = atomic_load_explicit(&queue->written, memory_order_relaxed);
    }
  }
}

bool oap_event_queue_read(oap_event_queue *queue, oap_event *event) {
  oap_event_place *place = place_of(queue, queue->read);
  if (atomic_load_explicit(&place->turn, memory_order_acquire) != queue->read + 1) {
    return false;
  }
  *event = place->event;
  atomic_store_explicit(&place->turn, queue->read + OAP_ASKS_WAITING, memory_order_release);
  queue->read++;
  return true;
}
