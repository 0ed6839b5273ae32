#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "offload_api.h"

/* CUDA Driver API reference; numbers of CUdevice_attribute. */
enum { WARP_SIZE = 10, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, MAX_SHARED_OPTIN = 97 };

struct driver {
  int (*cuDeviceGetCount)(int *);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetUuid)(unsigned char *, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
};

static bool find(void *library, const char *name, void *place) {
  void *address = dlsym(library, name);
  memcpy(place, &address, sizeof address);
  return address != NULL;
}

static bool open_driver(struct driver *driver) {
  void *library = dlopen(offloadc_cuda_backend.library, RTLD_NOW | RTLD_LOCAL);
  return library && find(library, "cuDeviceGetCount", &driver->cuDeviceGetCount) &&
         find(library, "cuDeviceGet", &driver->cuDeviceGet) &&
         find(library, "cuDeviceGetUuid", &driver->cuDeviceGetUuid) &&
         find(library, "cuDeviceGetAttribute", &driver->cuDeviceGetAttribute);
}

/* liboffload writes CUDA- and the UUID in hexadecimal digits. */
static bool has_uid(const struct driver *driver, int device, const char *uid) {
  unsigned char uuid[16];
  char text[48] = "CUDA-";
  if (driver->cuDeviceGetUuid(uuid, device))
    return false;
  for (size_t i = 0; i < sizeof uuid; i++)
    snprintf(text + 5 + 2 * i, 3, "%02x", uuid[i]);
  return !strcmp(text, uid);
}

/* liboffload counts devices as the driver does, save those that it cannot open. */
static int device_of(const struct driver *driver, unsigned index, const char *uid) {
  int count = 0, device = -1, by_index = -1;
  driver->cuDeviceGetCount(&count);
  for (int i = 0; i < count; i++) {
    if (driver->cuDeviceGet(&device, i))
      continue;
    if (has_uid(driver, device, uid))
      return device;
    if ((unsigned)i == index)
      by_index = device;
  }
  return by_index;
}

static bool describe(unsigned index, const char *uid, struct gpu_traits *out) {
  struct driver driver;
  int major = 0, minor = 0, warp = 0, shared = 0;
  int device = open_driver(&driver) ? device_of(&driver, index, uid) : -1;
  if (device < 0 || driver.cuDeviceGetAttribute(&major, CAPABILITY_MAJOR, device) ||
      driver.cuDeviceGetAttribute(&minor, CAPABILITY_MINOR, device) ||
      driver.cuDeviceGetAttribute(&warp, WARP_SIZE, device) ||
      driver.cuDeviceGetAttribute(&shared, MAX_SHARED_OPTIN, device))
    return false;
  snprintf(out->arch, sizeof out->arch, "sm_%d%d", major, minor);
  out->warp_size = (uint32_t)warp;
  out->shared_bytes = (size_t)shared;
  return true;
}

static const char *hidden_reason(void) {
  void *library = dlopen(offloadc_cuda_backend.library, RTLD_NOW | RTLD_LOCAL);
  if (library && dlsym(library, "cuInit") && !dlsym(library, "cuFuncGetParamInfo"))
    return "the NVIDIA driver here is older than CUDA 12.4, which liboffload 22 needs: update the driver";
  return NULL;
}

const struct backend offloadc_cuda_backend = {
    .word = "cuda",
    .kind = OFFLOADC_DEVICE_CUDA,
    .api_number = API_BACKEND_CUDA,
    .library = "libcuda.so",
    .versioned_library = "libcuda.so.1",
    .describe = describe,
    .hidden_reason = hidden_reason,
};
