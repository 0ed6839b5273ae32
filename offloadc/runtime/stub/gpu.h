/* GPUs, through liboffload. */
#ifndef OFFLOADC_STUB_GPU_H
#define OFFLOADC_STUB_GPU_H

#include "backends.h"
#include "device.h"
#include "offload_api.h"

#pragma GCC visibility push(hidden)

struct gpu {
  struct device device; /* first, so that a struct device * of a GPU is one of these */
  const struct backend *backend;
  api_device handle;
};

struct gpus {
  struct gpu *items;
  size_t count;
};

extern const struct device_operations offloadc_gpu_operations;

/* Only names host memory in copies: liboffload's host device can do nothing else (it crashes). */
extern api_device offloadc_host_device;

/* Starts liboffload and lists what it reaches; once a process. */
int offloadc_list_gpus(struct gpus *out);

/* Makes it ready for work: the default queue. */
int offloadc_open_gpu(struct gpu *gpu);

#pragma GCC visibility pop
#endif
