/* The public functions for memory, queues and the device. */
#include "device.h"
#include "error.h"
#include "queue.h"
#include "trace.h"

/* The device, and in *queue the default one if it was NULL. */
static int device_and_queue(struct device **device, offloadc_queue *queue) {
  int status = offloadc_device(device);
  if (status)
    return status;
  if (!*queue)
    *queue = (*device)->default_queue;
  else if (!offloadc_queue_is_live(*queue))
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "%p is no queue, or was destroyed", (void *)*queue);
  return OFFLOADC_SUCCESS;
}

static int null_argument(const char *function, const char *name) {
  return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, name);
}

int offloadc_alloc(size_t bytes, void **out) {
  struct device *device;
  if (!out)
    return null_argument(__func__, "out");
  *out = NULL;
  int status = offloadc_device(&device);
  if (status)
    return status;
  status = bytes ? device->operations->allocate(device, bytes, out) : OFFLOADC_SUCCESS;
  if (status)
    *out = NULL;
  return offloadc_trace(device, status, "alloc %zu bytes at %p", bytes, *out);
}

int offloadc_free(void *pointer) {
  struct device *device;
  int status = pointer ? offloadc_device(&device) : OFFLOADC_SUCCESS;
  if (status || !pointer)
    return status;
  status = device->operations->release(device, pointer);
  return offloadc_trace(device, status, "free %p", pointer);
}

static int copy(const char *function, enum copy_direction direction, void *destination, const void *source,
                size_t bytes, offloadc_queue queue) {
  struct device *device;
  int status = device_and_queue(&device, &queue);
  if (status)
    return status;
  if (bytes && (!destination || !source))
    status = null_argument(function, destination ? "source" : "destination");
  else if (bytes)
    status = device->operations->copy(device, direction, destination, source, bytes, queue);
  return offloadc_trace(device, status, "%s %zu bytes from %p to %p", function + sizeof "offloadc_" - 1, bytes, source,
                        destination);
}

int offloadc_copy_to_device(void *destination, const void *source, size_t bytes, offloadc_queue queue) {
  return copy(__func__, COPY_TO_DEVICE, destination, source, bytes, queue);
}

int offloadc_copy_to_host(void *destination, const void *source, size_t bytes, offloadc_queue queue) {
  return copy(__func__, COPY_TO_HOST, destination, source, bytes, queue);
}

int offloadc_copy_on_device(void *destination, const void *source, size_t bytes, offloadc_queue queue) {
  return copy(__func__, COPY_ON_DEVICE, destination, source, bytes, queue);
}

int offloadc_fill(void *destination, unsigned char value, size_t bytes, offloadc_queue queue) {
  struct device *device;
  int status = device_and_queue(&device, &queue);
  if (status)
    return status;
  if (bytes && !destination)
    status = null_argument(__func__, "destination");
  else if (bytes)
    status = device->operations->fill(device, destination, value, bytes, queue);
  return offloadc_trace(device, status, "fill %zu bytes at %p with %u", bytes, destination, value);
}

int offloadc_queue_create(offloadc_queue *out) {
  struct device *device;
  if (!out)
    return null_argument(__func__, "out");
  *out = NULL;
  int status = offloadc_device(&device);
  if (status)
    return status;
  status = device->operations->create_queue(device, out);
  return offloadc_trace(device, status, "queue_create %p", (void *)*out);
}

int offloadc_queue_destroy(offloadc_queue queue) {
  struct device *device;
  if (!queue)
    return null_argument(__func__, "queue");
  int status = device_and_queue(&device, &queue);
  if (status)
    return status;
  if (queue == device->default_queue)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "the default queue cannot be destroyed");
  const void *handle = queue;
  status = device->operations->destroy_queue(device, queue);
  return offloadc_trace(device, status, "queue_destroy %p", handle);
}

int offloadc_synchronize(offloadc_queue queue) {
  struct device *device;
  int status = device_and_queue(&device, &queue);
  if (status)
    return status;
  status = device->operations->synchronize(device, queue);
  return offloadc_trace(device, status, "synchronize %p", (void *)queue);
}

int offloadc_current_device(offloadc_device_info *out) {
  struct device *device;
  if (!out)
    return null_argument(__func__, "out");
  int status = offloadc_device(&device);
  if (!status)
    *out = device->info;
  return status;
}
