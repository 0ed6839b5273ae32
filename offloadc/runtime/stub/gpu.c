#define _GNU_SOURCE
#include "gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "gpu_session.h"
#include "layout.h"
#include "queue.h"

static int failed(const struct gpu *gpu, api_result result, const char *what) {
  return offloadc_fail(OFFLOADC_ERROR_DEVICE,
                       "%s failed on %s (%s): %s (liboffload error %d); an earlier kernel on this device may be the "
                       "cause",
                       what, gpu->device.label, gpu->device.info.name, offloadc_api_details(result), result->code);
}

/* ---- queues --------------------------------------------------------------------------------------- */
static struct gpu *gpu_of(struct device *device) { return (struct gpu *)device; }

static int create_queue(struct device *device, offloadc_queue *out) {
  struct gpu *gpu = gpu_of(device);
  api_queue handle;
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  api_result result = offloadc_api.olCreateQueue(gpu->handle, &handle);
  if (result)
    return failed(gpu, result, "creating a queue");
  *out = offloadc_queue_new(handle);
  if (*out)
    return OFFLOADC_SUCCESS;
  offloadc_api.olDestroyQueue(handle);
  return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while creating a queue");
}

/* What is done with a queue is done under its lock: liboffload's are not made for several threads at once. */

/* Once olSyncQueue failed, liboffload 22.1.8 crashes when it is to wait for that queue again. */
static api_result check(offloadc_queue queue) {
  static const struct api_error BROKEN = {API_UNKNOWN, "work in this queue failed before"};
  return queue->broken ? &BROKEN : NULL;
}

static api_result drain(offloadc_queue queue) {
  api_result result = check(queue);
  if (!result && (result = offloadc_api.olSyncQueue(queue->handle)))
    queue->broken = true;
  return result;
}

/* What a call that puts work into the queue ends with. */
static api_result put(const struct gpu *gpu, offloadc_queue queue, api_result result) {
  if (result && gpu->backend->failed_call_breaks_queue)
    queue->broken = true;
  return result;
}

static void drain_next(offloadc_queue queue, void *first_failure) {
  api_result result = drain(queue);
  if (result && !*(api_result *)first_failure)
    *(api_result *)first_failure = result;
}

api_result offloadc_drain_queues(void) {
  api_result first_failure = NULL;
  offloadc_queues_visit(drain_next, &first_failure);
  return first_failure;
}

static int synchronize(struct device *device, offloadc_queue queue) {
  struct gpu *gpu = gpu_of(device);
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  pthread_mutex_lock(&queue->lock);
  api_result result = drain(queue);
  int status = result ? failed(gpu, result, "waiting for a queue") : OFFLOADC_SUCCESS;
  pthread_mutex_unlock(&queue->lock);
  return status;
}

static int destroy_queue(struct device *device, offloadc_queue queue) {
  struct gpu *gpu = gpu_of(device);
  int status = OFFLOADC_SUCCESS;
  if (offloadc_session_usable()) { /* else it went with the device */
    pthread_mutex_lock(&queue->lock);
    api_result result = drain(queue);
    if (!result)
      result = offloadc_api.olDestroyQueue(queue->handle);
    status = result ? failed(gpu, result, "destroying a queue") : OFFLOADC_SUCCESS;
    pthread_mutex_unlock(&queue->lock);
  }
  offloadc_queue_delete(queue);
  return status;
}

int offloadc_open_gpu(struct gpu *gpu) { return create_queue(&gpu->device, &gpu->device.default_queue); }

/* ---- memory ----------------------------------------------------------------------------------------- */
/* The plugins' error codes do not tell (CUDA's is "unknown"); the drivers' texts do. */
static bool is_out_of_memory(const struct device *device, api_result result, size_t bytes) {
  const char *text = offloadc_api_details(result);
  return result->code == API_OUT_OF_RESOURCES || bytes > device->info.memory_bytes || strstr(text, "out of memory") ||
         strstr(text, "failed to allocate");
}

static int allocate(struct device *device, size_t bytes, void **out) {
  struct gpu *gpu = gpu_of(device);
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  api_result result = offloadc_api.olMemAlloc(gpu->handle, API_ALLOC_DEVICE, bytes, out);
  if (!result)
    return OFFLOADC_SUCCESS;
  if (!is_out_of_memory(device, result, bytes))
    return failed(gpu, result, "allocating memory");
  return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY,
                       "%s (%s, %llu MiB in all) has no %zu bytes of memory left: %s", device->label,
                       device->info.name, (unsigned long long)(device->info.memory_bytes >> 20), bytes,
                       offloadc_api_details(result));
}

/* Kernels that still use the memory must be done: liboffload hands it to the next allocation at once, or gives it back
 * to a driver that does not wait (HSA). */
static int release(struct device *device, void *pointer) {
  struct gpu *gpu = gpu_of(device);
  if (!offloadc_session_usable())
    return OFFLOADC_SUCCESS; /* it went with the device */
  api_result result = offloadc_drain_queues();
  if (result)
    return failed(gpu, result, "waiting for kernels before freeing memory");
  result = offloadc_api.olMemFree(pointer);
  if (!result)
    return OFFLOADC_SUCCESS;
  if (result->code == API_NOT_FOUND)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "freeing %p: not allocated on %s, or freed before", pointer,
                         device->label);
  return failed(gpu, result, "freeing memory");
}

static int copy(struct device *device, enum copy_direction direction, void *destination, const void *source,
                size_t bytes, offloadc_queue queue) {
  static const char *const WHAT[] = {
      [COPY_TO_DEVICE] = "copying to the device",
      [COPY_TO_HOST] = "copying to the host",
      [COPY_ON_DEVICE] = "copying on the device",
  };
  struct gpu *gpu = gpu_of(device);
  api_device to = direction == COPY_TO_HOST ? offloadc_host_device : gpu->handle;
  api_device from = direction == COPY_TO_DEVICE ? offloadc_host_device : gpu->handle;
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  pthread_mutex_lock(&queue->lock);
  api_result result = check(queue);
  if (!result)
    result = put(gpu, queue, offloadc_api.olMemcpy(queue->handle, destination, to, source, from, bytes));
  if (!result)
    result = drain(queue);
  int status = result ? failed(gpu, result, WHAT[direction]) : OFFLOADC_SUCCESS;
  pthread_mutex_unlock(&queue->lock);
  return status;
}

/* Waits, since the AMDGPU plugin fills from a thread of its own, which may outlive the device. */
static int fill(struct device *device, void *destination, unsigned char value, size_t bytes, offloadc_queue queue) {
  struct gpu *gpu = gpu_of(device);
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  pthread_mutex_lock(&queue->lock);
  api_result result = check(queue);
  if (!result)
    result = put(gpu, queue, offloadc_api.olMemFill(queue->handle, destination, 1, &value, bytes));
  if (!result)
    result = drain(queue);
  int status = result ? failed(gpu, result, "filling memory") : OFFLOADC_SUCCESS;
  pthread_mutex_unlock(&queue->lock);
  return status;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */
static int load_image(struct gpu *gpu, struct unit *unit) {
  struct text image = {.length = 0};
  api_program program;
  api_result result = offloadc_api.olCreateProgram(gpu->handle, unit->image->data, unit->image->size, &program);
  if (!result) {
    unit->program = program;
    return OFFLOADC_SUCCESS;
  }
  offloadc_image_describe(unit->image, &image);
  return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                       "%s (%s, %s) does not take this program's %s image: %s (liboffload error %d); the driver may be "
                       "older than the image, or the image is damaged: update the driver or rebuild the program",
                       gpu->device.label, gpu->device.info.name, gpu->device.info.arch, image.data,
                       offloadc_api_details(result), result->code);
}

/* The caller serialises these. */
static int find_kernel(struct device *device, struct unit *unit, const char *name, void **handle) {
  struct gpu *gpu = gpu_of(device);
  api_symbol symbol;
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  int status = unit->program ? OFFLOADC_SUCCESS : load_image(gpu, unit);
  if (status)
    return status;
  api_result result = offloadc_api.olGetSymbol(unit->program, name, API_SYMBOL_KERNEL, &symbol);
  if (result)
    return offloadc_fail(OFFLOADC_ERROR_UNKNOWN_KERNEL,
                         "%s's driver does not find kernel %s in the %s image that lists it: %s; rebuild the program",
                         device->label, name, unit->image->arch, offloadc_api_details(result));
  *handle = symbol;
  return OFFLOADC_SUCCESS;
}

static int launch_failed(const struct gpu *gpu, const struct resolved_kernel *kernel, const struct launch *launch,
                         api_result result) {
  return offloadc_fail(OFFLOADC_ERROR_DEVICE,
                       "launching %s with grid %u,%u,%u, block %u,%u,%u and %zu bytes of dynamic shared memory failed "
                       "on %s (%s): %s (liboffload error %d); the kernel may need more registers or shared memory than "
                       "a block of this size has, or an earlier kernel failed",
                       kernel->name, launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x, launch->block.y,
                       launch->block.z, launch->shared_bytes, gpu->device.label, gpu->device.info.name,
                       offloadc_api_details(result), result->code);
}

static int submit(struct gpu *gpu, const struct resolved_kernel *kernel, const struct launch *launch,
                  const unsigned char *args, offloadc_queue queue) {
  const struct api_launch_size size = {
      .dimensions = 3,
      .group_count = {launch->grid.x, launch->grid.y, launch->grid.z},
      .group_size = {launch->block.x, launch->block.y, launch->block.z},
      .dynamic_shared_memory = launch->shared_bytes,
  };
  pthread_mutex_lock(&queue->lock);
  api_result result = check(queue);
  if (!result)
    result = put(gpu, queue,
                 offloadc_api.olLaunchKernel(queue->handle, gpu->handle, kernel->handle,
                                             kernel->args_size ? args : NULL, kernel->args_size, &size));
  int status = result ? launch_failed(gpu, kernel, launch, result) : OFFLOADC_SUCCESS;
  pthread_mutex_unlock(&queue->lock);
  return status;
}

static int launch(struct device *device, const struct resolved_kernel *kernel, const struct launch *size,
                  void *const *args, offloadc_queue queue) {
  _Alignas(64) unsigned char on_stack[1024];
  struct gpu *gpu = gpu_of(device);
  unsigned char *buffer = on_stack;
  if (!offloadc_session_usable())
    return offloadc_refuse(device->label);
  if (kernel->args_size > sizeof on_stack && !(buffer = malloc(kernel->args_size)))
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while launching %s", kernel->name);
  offloadc_pack(buffer, kernel->args_size, kernel->params, kernel->kernel->param_count, args);
  int status = submit(gpu, kernel, size, buffer, queue);
  if (buffer != on_stack)
    free(buffer);
  return status;
}

const struct device_operations offloadc_gpu_operations = {
    .find_kernel = find_kernel,
    .launch = launch,
    .allocate = allocate,
    .release = release,
    .copy = copy,
    .fill = fill,
    .create_queue = create_queue,
    .destroy_queue = destroy_queue,
    .synchronize = synchronize,
};
