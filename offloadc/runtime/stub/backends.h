/* What differs between liboffload's back ends. One table row each; nothing else asks which one it is. */
#ifndef OFFLOADC_STUB_BACKENDS_H
#define OFFLOADC_STUB_BACKENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "offloadc/runtime.h"

#pragma GCC visibility push(hidden)

/* What liboffload does not tell of a device, asked of the driver. */
struct gpu_traits {
  char arch[64];
  uint32_t warp_size;
  size_t shared_bytes; /* 0: what liboffload says */
};

struct backend {
  const char *word; /* in OFFLOADC_DEVICE */
  enum offloadc_device_kind kind;
  int api_number;
  const char *library, *versioned_library; /* liboffload opens the first; machines have the second */
  bool limits_grid_by_threads;             /* 32 bits for blocks times threads; else the driver's limit on blocks */
  bool failed_call_breaks_queue;           /* a call that failed leaves a gap that waiting never passes */
  /* The device that liboffload counts as `index` of this back end and calls `uid`. */
  bool (*describe)(unsigned index, const char *uid, struct gpu_traits *out);
  /* Why liboffload lists no device of this kind although a driver is there; NULL: it is as it seems. */
  const char *(*hidden_reason)(void);
};

extern const struct backend offloadc_cuda_backend, offloadc_amdgpu_backend;

enum { BACKEND_COUNT = 2 };
extern const struct backend *const offloadc_backends[BACKEND_COUNT];

#pragma GCC visibility pop
#endif
