/* The handle that programs hold. */
#ifndef OFFLOADC_STUB_QUEUE_H
#define OFFLOADC_STUB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "offloadc/runtime.h"

#pragma GCC visibility push(hidden)

struct offloadc_queue_s {
  void *handle; /* the device's own; NULL on the CPU device, which has nothing to wait for */
  pthread_mutex_t lock;
  bool broken; /* work in it failed: the device's handle must not be touched again */
  offloadc_queue previous, next;
};

offloadc_queue offloadc_queue_new(void *handle); /* NULL: out of memory */
void offloadc_queue_delete(offloadc_queue queue);

/* Calls `visit` on every live queue, locked. */
void offloadc_queues_visit(void (*visit)(offloadc_queue queue, void *data), void *data);

/* False: never created, or destroyed. Never reads through the handle. */
bool offloadc_queue_is_live(offloadc_queue queue);

#pragma GCC visibility pop
#endif
