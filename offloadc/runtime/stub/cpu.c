/* The CPU device: runs the program's x86-64 images in this process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "error.h"
#include "memory_library.h"
#include "queue.h"

enum { MEMORY_ALIGN = 64, MAX_BLOCK_THREADS = 1024 };

/* Images are made of an NVIDIA front end's IR: the engine runs warps of 32. */
enum { WARP_SIZE = 32 };

/* ---- images and kernels ----------------------------------------------------------------------- */
static int load_image(struct unit *unit) {
  char label[64];
  snprintf(label, sizeof label, "offloadc-%.40s", unit->name);
  void *library = offloadc_load_library(label, unit->image->data, unit->image->size);
  if (!library)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                         "this program's %s image cannot be loaded: %s; rebuild the program", unit->image->arch,
                         offloadc_last_error());
  const offloadc_cpu_image_t *image = dlsym(library, "offloadc_cpu_image");
  if (!image || image->version != OFFLOADC_CPU_IMAGE_VERSION) {
    int status = offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                               "this program's %s image %s; rebuild the program with one version of offloadc",
                               unit->image->arch,
                               image ? "has another version than the program" : "lacks offloadc_cpu_image");
    dlclose(library);
    return status;
  }
  unit->program = (void *)(uintptr_t)image;
  return OFFLOADC_SUCCESS;
}

static int find_kernel(struct device *device, struct unit *unit, const char *name, void **handle) {
  (void)device;
  int status = unit->program ? OFFLOADC_SUCCESS : load_image(unit);
  if (status)
    return status;
  const offloadc_cpu_image_t *image = unit->program;
  for (uint32_t i = 0; i < image->kernel_count; i++)
    if (!strcmp(image->kernels[i].name, name)) {
      *handle = (void *)(uintptr_t)&image->kernels[i];
      return OFFLOADC_SUCCESS;
    }
  return offloadc_fail(OFFLOADC_ERROR_UNKNOWN_KERNEL,
                       "kernel %s is missing in the %s image that lists it; rebuild the program", name,
                       unit->image->arch);
}

static int launch(struct device *device, const struct resolved_kernel *kernel, const struct launch *launch,
                  void *const *args, offloadc_queue queue) {
  (void)device, (void)queue;
  const offloadc_cpu_image_t *image = kernel->unit->program;
  const offloadc_cpu_kernel *handle = kernel->handle;
  if (handle->param_count != kernel->kernel->param_count)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                         "kernel %s has %u parameters in its %s image but %u in the image's kernel table; rebuild the "
                         "program",
                         kernel->name, handle->param_count, kernel->unit->image->arch, kernel->kernel->param_count);
  int error = image->launch(handle, args, launch->grid, launch->block, launch->shared_bytes);
  if (!error)
    return OFFLOADC_SUCCESS;
  return offloadc_fail(error == ENOMEM ? OFFLOADC_ERROR_OUT_OF_MEMORY : OFFLOADC_ERROR_DEVICE,
                       "launching %s on the CPU device failed: %s", kernel->name, strerror(error));
}

/* ---- memory and queues: everything is done when a call returns -------------------------------------- */
static int allocate(struct device *device, size_t bytes, void **out) {
  (void)device;
  size_t rounded = bytes + (MEMORY_ALIGN - 1);
  *out = rounded < bytes ? NULL : aligned_alloc(MEMORY_ALIGN, rounded / MEMORY_ALIGN * MEMORY_ALIGN);
  return *out ? OFFLOADC_SUCCESS
              : offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "the CPU device has no %zu bytes of memory left", bytes);
}

static int release(struct device *device, void *pointer) {
  (void)device;
  free(pointer);
  return OFFLOADC_SUCCESS;
}

static int copy(struct device *device, enum copy_direction direction, void *destination, const void *source,
                size_t bytes, offloadc_queue queue) {
  (void)device, (void)direction, (void)queue;
  memmove(destination, source, bytes);
  return OFFLOADC_SUCCESS;
}

static int fill(struct device *device, void *destination, unsigned char value, size_t bytes, offloadc_queue queue) {
  (void)device, (void)queue;
  memset(destination, value, bytes);
  return OFFLOADC_SUCCESS;
}

static int create_queue(struct device *device, offloadc_queue *out) {
  (void)device;
  *out = offloadc_queue_new(NULL);
  return *out ? OFFLOADC_SUCCESS
              : offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while creating a queue");
}

static int destroy_queue(struct device *device, offloadc_queue queue) {
  (void)device;
  offloadc_queue_delete(queue);
  return OFFLOADC_SUCCESS;
}

static int synchronize(struct device *device, offloadc_queue queue) {
  (void)device, (void)queue;
  return OFFLOADC_SUCCESS;
}

static const struct device_operations OPERATIONS = {
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

/* ---- what it is --------------------------------------------------------------------------------------- */
static void read_model_name(char *name, size_t size) {
  char line[256];
  snprintf(name, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!file)
    return;
  while (fgets(line, sizeof line, file)) {
    const char *value = strstr(line, ": ");
    if (strncmp(line, "model name", 10) || !value)
      continue;
    snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
    break;
  }
  fclose(file);
}

static const char *micro_architecture_level(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
         : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
         : __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2"
                                               : "x86-64";
#else
  return "no x86-64";
#endif
}

/* The processors this process may run on: containers often have fewer than the machine. */
static uint32_t processor_count(void) {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set))
    return (uint32_t)CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}

struct device *offloadc_cpu_device(void) {
  static struct device device;
  offloadc_device_info *info = &device.info;
  device.operations = &OPERATIONS;
  device.arch = micro_architecture_level();
  snprintf(device.label, sizeof device.label, "cpu");
  info->kind = OFFLOADC_DEVICE_CPU;
  read_model_name(info->name, sizeof info->name);
  snprintf(info->arch, sizeof info->arch, "x86-64");
  info->warp_size = WARP_SIZE;
  info->compute_units = processor_count();
  info->max_block_threads = MAX_BLOCK_THREADS;
  info->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  device.limits = (struct launch_limits){
      .block = {MAX_BLOCK_THREADS, MAX_BLOCK_THREADS, MAX_BLOCK_THREADS},
      .grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      .shared_bytes = SIZE_MAX,
  };
  return &device;
}
