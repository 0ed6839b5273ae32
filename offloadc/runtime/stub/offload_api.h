/* The part of LLVM 22's offload API that the stub calls, so that building a program needs no liboffload
 * headers. tests/runtime compares it with OffloadAPI.h. */
#ifndef OFFLOADC_STUB_OFFLOAD_API_H
#define OFFLOADC_STUB_OFFLOAD_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct api_device *api_device;
typedef struct api_platform *api_platform;
typedef struct api_program *api_program;
typedef struct api_queue *api_queue;
typedef struct api_symbol *api_symbol;

enum { API_ALLOC_DEVICE = 1 };
enum { API_SYMBOL_KERNEL = 0 };
enum { API_DEVICE_TYPE_GPU = 2, API_DEVICE_TYPE_HOST = 4 };
enum { API_BACKEND_CUDA = 1, API_BACKEND_AMDGPU = 2, API_BACKEND_HOST = 4 };
enum { API_PLATFORM_BACKEND = 3 };
enum { API_UNKNOWN = 1, API_NOT_FOUND = 6, API_OUT_OF_RESOURCES = 7 };

enum api_device_info {
  API_DEVICE_TYPE = 0,
  API_DEVICE_PLATFORM = 1,
  API_DEVICE_PRODUCT_NAME = 3,
  API_DEVICE_UID = 4,
  API_DEVICE_MAX_GROUP_SIZE = 7,
  API_DEVICE_MAX_GROUP_SIZE_PER_DIMENSION = 8,
  API_DEVICE_MAX_SIZE_PER_DIMENSION = 10,
  API_DEVICE_COMPUTE_UNITS = 12,
  API_DEVICE_GLOBAL_MEMORY = 17,
  API_DEVICE_LOCAL_MEMORY = 18,
};

struct api_error {
  int code;
  const char *details;
};
typedef const struct api_error *api_result; /* NULL: success */

struct api_dimensions {
  uint32_t x, y, z;
};

struct api_launch_size {
  size_t dimensions;
  struct api_dimensions group_count, group_size;
  size_t dynamic_shared_memory;
};

/* Enumerations are int here and unsigned there: passed alike on every host. */
#define OFFLOADC_API_FUNCTIONS(X)                                                                                      \
  X(api_result, olInit, (void))                                                                                        \
  X(api_result, olShutDown, (void))                                                                                    \
  X(api_result, olIterateDevices, (bool (*)(api_device, void *), void *))                                              \
  X(api_result, olGetPlatformInfo, (api_platform, int, size_t, void *))                                                \
  X(api_result, olGetDeviceInfo, (api_device, int, size_t, void *))                                                    \
  X(api_result, olGetDeviceInfoSize, (api_device, int, size_t *))                                                      \
  X(api_result, olMemAlloc, (api_device, int, size_t, void **))                                                        \
  X(api_result, olMemFree, (void *))                                                                                   \
  X(api_result, olMemcpy, (api_queue, void *, api_device, const void *, api_device, size_t))                           \
  X(api_result, olMemFill, (api_queue, void *, size_t, const void *, size_t))                                          \
  X(api_result, olCreateQueue, (api_device, api_queue *))                                                              \
  X(api_result, olDestroyQueue, (api_queue))                                                                           \
  X(api_result, olSyncQueue, (api_queue))                                                                              \
  X(api_result, olCreateProgram, (api_device, const void *, size_t, api_program *))                                    \
  X(api_result, olGetSymbol, (api_program, const char *, int, api_symbol *))                                           \
  X(api_result, olLaunchKernel,                                                                                        \
    (api_queue, api_device, api_symbol, const void *, size_t, const struct api_launch_size *))

struct offload_api {
#define OFFLOADC_API_MEMBER(RESULT, NAME, ARGUMENTS) RESULT(*NAME) ARGUMENTS;
  OFFLOADC_API_FUNCTIONS(OFFLOADC_API_MEMBER)
#undef OFFLOADC_API_MEMBER
};

#endif
