#include "queue.h"

#include <stdlib.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static offloadc_queue first;

offloadc_queue offloadc_queue_new(void *handle) {
  offloadc_queue queue = calloc(1, sizeof *queue);
  if (!queue)
    return NULL;
  queue->handle = handle;
  pthread_mutex_init(&queue->lock, NULL);
  pthread_mutex_lock(&list_lock);
  queue->next = first;
  if (first)
    first->previous = queue;
  first = queue;
  pthread_mutex_unlock(&list_lock);
  return queue;
}

void offloadc_queue_delete(offloadc_queue queue) {
  pthread_mutex_lock(&list_lock);
  if (queue->previous)
    queue->previous->next = queue->next;
  else
    first = queue->next;
  if (queue->next)
    queue->next->previous = queue->previous;
  pthread_mutex_unlock(&list_lock);
  pthread_mutex_destroy(&queue->lock);
  free(queue);
}

bool offloadc_queue_is_live(offloadc_queue queue) {
  bool live = false;
  pthread_mutex_lock(&list_lock);
  for (offloadc_queue at = first; at && !live; at = at->next)
    live = at == queue;
  pthread_mutex_unlock(&list_lock);
  return live;
}

/* The list stays locked meanwhile, so that no queue is deleted under the visitor. */
void offloadc_queues_visit(void (*visit)(offloadc_queue queue, void *data), void *data) {
  pthread_mutex_lock(&list_lock);
  for (offloadc_queue at = first; at; at = at->next) {
    pthread_mutex_lock(&at->lock);
    visit(at, data);
    pthread_mutex_unlock(&at->lock);
  }
  pthread_mutex_unlock(&list_lock);
}
