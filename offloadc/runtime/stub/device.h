/* What a device can do, whatever it is made of; cpu.c and gpu.c implement it. */
#ifndef OFFLOADC_STUB_DEVICE_H
#define OFFLOADC_STUB_DEVICE_H

#include "offloadc/runtime.h"
#include "units.h"

#pragma GCC visibility push(hidden)

/* A kernel found in the image that the device runs; lives as long as the program. */
struct resolved_kernel {
  const struct unit *unit;
  const struct kernel *kernel;
  char *name;
  const struct param *params; /* as this device wants them */
  uint32_t args_size;
  void *handle; /* the device's own */
};

struct launch {
  offloadc_dim3 grid, block;
  size_t shared_bytes;
};

enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

struct device;

/* `queue` is never NULL here, sizes are never 0, launches are within the device's limits. */
struct device_operations {
  int (*find_kernel)(struct device *device, struct unit *unit, const char *name, void **handle);
  int (*launch)(struct device *device, const struct resolved_kernel *kernel, const struct launch *launch,
                void *const *args, offloadc_queue queue);
  int (*allocate)(struct device *device, size_t bytes, void **out);
  int (*release)(struct device *device, void *pointer);
  int (*copy)(struct device *device, enum copy_direction direction, void *destination, const void *source,
              size_t bytes, offloadc_queue queue);
  int (*fill)(struct device *device, void *destination, unsigned char value, size_t bytes, offloadc_queue queue);
  int (*create_queue)(struct device *device, offloadc_queue *out);
  int (*destroy_queue)(struct device *device, offloadc_queue queue);
  int (*synchronize)(struct device *device, offloadc_queue queue);
};

/* In each direction; UINT32_MAX where only the interface's 32 bits limit. */
struct launch_limits {
  offloadc_dim3 block, grid;
  uint32_t grid_threads; /* blocks times threads */
  size_t shared_bytes;
};

struct device {
  const struct device_operations *operations;
  offloadc_device_info info;
  char label[16];   /* cpu, cuda:0 */
  const char *arch; /* what images are chosen by; more exact than info.arch on the CPU device */
  struct launch_limits limits;
  offloadc_queue default_queue;
  struct units units;
};

/* The device of this process, chosen at the first call. */
int offloadc_device(struct device **out);

struct device *offloadc_cpu_device(void);

#pragma GCC visibility pop
#endif
