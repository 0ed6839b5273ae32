/* A stand-in for NVIDIA's libcuda.so.1: the functions that liboffload 22's CUDA plugin and the launch
 * stub look up. Memory is malloc's, copies happen at once, kernels are recorded and not run.
 *
 *   OFFLOADC_STANDIN_CUDA_DEVICES  compute capability of each device, "9.0,8.6"; default "9.0"
 *   OFFLOADC_STANDIN_PARAMS        parameters of kernels in PTX modules: NAME=OFFSET:SIZE/OFFSET:SIZE,NAME=...
 * Kernels of cubins have the parameters that the cubin's own table states.
 *
 * Signatures and numbers are those of the CUDA Driver API reference. Compiled with
 * -DWITHOUT_PARAM_INFO it lacks cuFuncGetParamInfo, as drivers before CUDA 12.4 do.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define API __attribute__((visibility("default")))

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUevent;

enum { CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101 };
enum { CUDA_ERROR_INVALID_IMAGE = 200, CUDA_ERROR_NO_BINARY_FOR_GPU = 209, CUDA_ERROR_NOT_FOUND = 500 };

/* ------------------------------------------------------------------------------------- devices */
static int device_count(void) {
  const char *list = getenv("OFFLOADC_STANDIN_CUDA_DEVICES");
  char word[32];
  int count = 0;
  while (list_word(list ? list : "9.0", (unsigned)count, word, sizeof word))
    count++;
  return count;
}

static void capability(CUdevice device, int *major, int *minor) {
  const char *list = getenv("OFFLOADC_STANDIN_CUDA_DEVICES");
  char word[32];
  if (!list_word(list ? list : "9.0", (unsigned)device, word, sizeof word) ||
      sscanf(word, "%d.%d", major, minor) != 2)
    abort();
}

static int started(const char *call) {
  int code = injected_failure(call);
  record_begin(call);
  return code;
}

static CUresult done(int code) {
  record_number("result", (uint64_t)code);
  record_end();
  return code;
}

API CUresult cuInit(unsigned flags) {
  int code = started("cuInit");
  record_number("flags", flags);
  return done(code ? code : device_count() ? 0 : CUDA_ERROR_NO_DEVICE);
}

API CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

API CUresult cuDeviceGetCount(int *count) {
  *count = device_count();
  return 0;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count() ? 0 : CUDA_ERROR_INVALID_DEVICE;
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, (size_t)size, "Stand-in NVIDIA GPU %d", device);
  return 0;
}

API CUresult cuDeviceGetUuid(char *uuid, CUdevice device) {
  memset(uuid, 0x10 + device, 16);
  return 0;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = (size_t)8 << 30;
  return 0;
}

static int attribute(int attribute_number, CUdevice device) {
  int major, minor;
  capability(device, &major, &minor);
  switch (attribute_number) {
  case 1: /* MAX_THREADS_PER_BLOCK */
  case 2: /* MAX_BLOCK_DIM_X */
  case 3: /* MAX_BLOCK_DIM_Y */
    return 1024;
  case 4: /* MAX_BLOCK_DIM_Z */
    return 64;
  case 5: /* MAX_GRID_DIM_X */
    return 2147483647;
  case 6: /* MAX_GRID_DIM_Y */
  case 7: /* MAX_GRID_DIM_Z */
    return 65535;
  case 8: /* MAX_SHARED_MEMORY_PER_BLOCK */
    return 49152;
  case 10: /* WARP_SIZE */
    return 32;
  case 13: /* CLOCK_RATE */
    return 1980000;
  case 16: /* MULTIPROCESSOR_COUNT */
    return 132;
  case 36: /* MEMORY_CLOCK_RATE */
    return 3201000;
  case 39: /* MAX_THREADS_PER_MULTIPROCESSOR */
    return 2048;
  case 75: /* COMPUTE_CAPABILITY_MAJOR */
    return major;
  case 76: /* COMPUTE_CAPABILITY_MINOR */
    return minor;
  case 97: /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    return 232448;
  default:
    return 1;
  }
}

API CUresult cuDeviceGetAttribute(int *value, int attribute_number, CUdevice device) {
  *value = attribute(attribute_number, device);
  return 0;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  *can = device != peer;
  return 0;
}

/* ------------------------------------------------------------------------------------ contexts */
static _Thread_local CUcontext current;
static CUcontext context_of(CUdevice device) { return (CUcontext)(uintptr_t)(0x1000 + (unsigned)device); }

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  (void)device;
  *flags = 0;
  *active = 0;
  return 0;
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  started("cuDevicePrimaryCtxSetFlags");
  record_number("device", (uint64_t)device);
  record_number("flags", flags);
  return done(0);
}

API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  int code = started("cuDevicePrimaryCtxRetain");
  record_number("device", (uint64_t)device);
  *context = context_of(device);
  return done(code);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  int code = started("cuDevicePrimaryCtxRelease");
  record_number("device", (uint64_t)device);
  return done(code);
}

API CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

API CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return 0;
}

API CUresult cuCtxGetDevice(CUdevice *device) {
  *device = (CUdevice)((uintptr_t)current - 0x1000);
  return 0;
}

API CUresult cuCtxGetLimit(size_t *value, int limit) {
  *value = limit == 0 ? 1024 : (size_t)8 << 20;
  return 0;
}

API CUresult cuCtxSetLimit(int limit, size_t value) {
  (void)limit, (void)value;
  return 0;
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  (void)peer, (void)flags;
  return 0;
}

/* -------------------------------------------------------------------------- streams and events */
API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  int code = started("cuStreamCreate");
  record_number("flags", flags);
  *stream = malloc(8);
  record_number("stream", (uintptr_t)*stream);
  return done(code);
}

API CUresult cuStreamDestroy(CUstream stream) {
  free(stream);
  return 0;
}

API CUresult cuStreamDestroy_v2(CUstream stream) { return cuStreamDestroy(stream); }

API CUresult cuStreamSynchronize(CUstream stream) {
  int code = started("cuStreamSynchronize");
  record_number("stream", (uintptr_t)stream);
  return done(code);
}

API CUresult cuStreamQuery(CUstream stream) {
  (void)stream;
  return injected_failure("cuStreamQuery");
}

API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return 0;
}

API CUresult cuStreamAddCallback(CUstream stream, void (*callback)(CUstream, CUresult, void *), void *data,
                                 unsigned flags) {
  (void)flags;
  callback(stream, 0, data);
  return 0;
}

API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data) {
  (void)stream;
  function(data);
  return 0;
}

API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  (void)flags;
  *event = malloc(8);
  return 0;
}

API CUresult cuEventDestroy(CUevent event) {
  free(event);
  return 0;
}

API CUresult cuEventQuery(CUevent event) {
  (void)event;
  return 0;
}

API CUresult cuEventRecord(CUevent event, CUstream stream) {
  (void)event, (void)stream;
  return 0;
}

API CUresult cuEventSynchronize(CUevent event) {
  (void)event;
  return 0;
}

/* -------------------------------------------------------------------------------------- memory */
static CUresult allocate(const char *call, CUdeviceptr *out, size_t bytes) {
  int code = started(call);
  record_number("bytes", bytes);
  record_number("context", (uintptr_t)current);
  *out = code ? 0 : (CUdeviceptr)(uintptr_t)malloc(bytes);
  record_number("address", *out);
  return done(code);
}

static CUresult release(const char *call, CUdeviceptr address) {
  int code = started(call);
  record_number("address", address);
  free((void *)(uintptr_t)address);
  return done(code);
}

API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) { return allocate("cuMemAlloc", out, bytes); }
API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) {
  (void)stream;
  return allocate("cuMemAllocAsync", out, bytes);
}
API CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags) {
  (void)flags;
  return allocate("cuMemAllocManaged", out, bytes);
}
API CUresult cuMemAllocHost_v2(void **out, size_t bytes) {
  CUdeviceptr address;
  CUresult code = allocate("cuMemAllocHost", &address, bytes);
  *out = (void *)(uintptr_t)address;
  return code;
}
API CUresult cuMemFree_v2(CUdeviceptr address) { return release("cuMemFree", address); }
API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  (void)stream;
  return release("cuMemFreeAsync", address);
}
API CUresult cuMemFreeHost(void *address) { return release("cuMemFreeHost", (uintptr_t)address); }

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *address, unsigned flags) {
  (void)flags;
  *out = (uintptr_t)address;
  return 0;
}
API CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  (void)address, (void)bytes, (void)flags;
  return 0;
}
API CUresult cuMemHostUnregister(void *address) {
  (void)address;
  return 0;
}
API CUresult cuMemHostGetFlags(unsigned *flags, void *address) {
  (void)address;
  *flags = 0;
  return 0;
}

static CUresult copy(const char *call, uintptr_t destination, uintptr_t source, size_t bytes, CUstream stream) {
  int code = started(call);
  record_number("bytes", bytes);
  record_number("stream", (uintptr_t)stream);
  if (!code)
    memcpy((void *)destination, (const void *)source, bytes);
  return done(code);
}

#define COPY(NAME, DESTINATION, SOURCE)                                                                                \
  API CUresult NAME##_v2(DESTINATION destination, SOURCE source, size_t bytes) {                                       \
    return copy(#NAME, (uintptr_t)destination, (uintptr_t)source, bytes, NULL);                                        \
  }                                                                                                                    \
  API CUresult NAME##Async_v2(DESTINATION destination, SOURCE source, size_t bytes, CUstream stream) {                 \
    return copy(#NAME "Async", (uintptr_t)destination, (uintptr_t)source, bytes, stream);                              \
  }
COPY(cuMemcpyHtoD, CUdeviceptr, const void *)
COPY(cuMemcpyDtoH, void *, CUdeviceptr)
COPY(cuMemcpyDtoD, CUdeviceptr, CUdeviceptr)

API CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext to, CUdeviceptr source, CUcontext from,
                               size_t bytes, CUstream stream) {
  (void)to, (void)from;
  return copy("cuMemcpyPeerAsync", destination, source, bytes, stream);
}

static CUresult fill(CUdeviceptr address, const void *pattern, size_t size, size_t count, CUstream stream) {
  int code = started("cuMemset");
  record_number("bytes", size * count);
  record_number("pattern_size", size);
  record_number("stream", (uintptr_t)stream);
  for (size_t i = 0; i < count && !code; i++)
    memcpy((char *)(uintptr_t)address + i * size, pattern, size);
  return done(code);
}

API CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return fill(address, &value, 1, count, stream);
}
API CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
  return fill(address, &value, 2, count, stream);
}
API CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
  return fill(address, &value, 4, count, stream);
}

/* ------------------------------------------------------------------------- modules and kernels */
struct module {
  const unsigned char *data; /* a copy of the ELF image; NULL: PTX */
  CUdevice device;
};

struct function {
  const struct module *module;
  char name[512];
};

static int is_elf(const void *image) { return !memcmp(image, ELFMAG, SELFMAG); }

/* cuModuleLoadDataEx is not told the size: the section headers end a cubin. */
static size_t elf_size(const void *image) {
  const Elf64_Ehdr *header = image;
  size_t end = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  size_t segments = header->e_phoff + (size_t)header->e_phnum * header->e_phentsize;
  return end > segments ? end : segments;
}

API CUresult cuModuleLoadDataEx(struct module **out, const void *image, unsigned count, void *options,
                                void **values) {
  (void)count, (void)options, (void)values;
  int code = started("cuModuleLoadDataEx");
  struct module *module = calloc(1, sizeof *module);
  cuCtxGetDevice(&module->device);
  record_text("format", is_elf(image) ? "cubin" : "ptx");
  record_number("device", (uint64_t)module->device);
  if (is_elf(image)) {
    unsigned char *data = malloc(elf_size(image));
    memcpy(data, image, elf_size(image));
    module->data = data;
    record_number("elf_flags", ((const Elf64_Ehdr *)image)->e_flags);
  } else {
    const char *target = strstr(image, ".target ");
    char word[32] = "";
    if (target)
      sscanf(target + 8, "%31[a-z0-9_]", word);
    record_text("target", word);
    code = code ? code : target ? 0 : CUDA_ERROR_INVALID_IMAGE;
  }
  *out = module;
  return done(code);
}

API CUresult cuModuleUnload(struct module *module) {
  int code = started("cuModuleUnload");
  free((void *)(uintptr_t)module->data);
  free(module);
  return done(code);
}

/* Where the cubin's section `wanted` lies; NULL when there is none. */
static const unsigned char *section(const unsigned char *elf, const char *wanted, size_t *size) {
  const Elf64_Ehdr *header = (const void *)elf;
  const Elf64_Shdr *sections = (const void *)(elf + header->e_shoff);
  const char *names = (const char *)elf + sections[header->e_shstrndx].sh_offset;
  for (unsigned i = 0; i < header->e_shnum; i++)
    if (!strcmp(names + sections[i].sh_name, wanted)) {
      *size = sections[i].sh_size;
      return elf + sections[i].sh_offset;
    }
  return NULL;
}

static int has_kernel(const struct module *module, const char *name) {
  char wanted[600];
  size_t size;
  if (!module->data) {
    const char *list = getenv("OFFLOADC_STANDIN_PARAMS");
    for (unsigned i = 0; list_word(list, i, wanted, sizeof wanted); i++)
      if (!strncmp(wanted, name, strlen(name)) && wanted[strlen(name)] == '=')
        return 1;
    return 0;
  }
  snprintf(wanted, sizeof wanted, ".text.%s", name);
  return section(module->data, wanted, &size) != NULL;
}

API CUresult cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
  int code = started("cuModuleGetFunction");
  record_text("name", name);
  if (!code && !has_kernel(module, name))
    code = CUDA_ERROR_NOT_FOUND;
  *out = NULL;
  if (!code) {
    *out = calloc(1, sizeof **out);
    (*out)->module = module;
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
  }
  return done(code);
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, struct module *module, const char *name) {
  (void)address, (void)size, (void)module, (void)name;
  return CUDA_ERROR_NOT_FOUND;
}
API CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *size, struct module *module, const char *name) {
  return cuModuleGetGlobal_v2(address, size, module, name);
}

#ifndef WITHOUT_PARAM_INFO
/* Attributes of .nv.info.KERNEL in form 4 (u16 payload size): EIATTR_KPARAM_INFO (0x17) is u32 index, u16 ordinal,
 * u16 offset, u32 whose bits 18 and up are the size in bytes; EIATTR_KPARAM_INFO_V2 (0x45) has a u16 size in their
 * place. As cuobjdump -elf prints them. */
static int cubin_param(const unsigned char *info, size_t size, size_t ordinal, size_t *offset, size_t *bytes) {
  for (size_t at = 0; at + 4 <= size;) {
    int sized = info[at] == 4, version = sized * (info[at + 1] == 0x17 ? 1 : info[at + 1] == 0x45 ? 2 : 0);
    uint16_t payload, words[4];
    memcpy(&payload, info + at + 2, 2);
    if (version) {
      memcpy(words, info + at + 8, 8);
      *offset = words[1];
      *bytes = version == 2 ? words[2] : ((uint32_t)words[3] << 16 | words[2]) >> 18;
      if (words[0] == ordinal)
        return 1;
    }
    at += 4 + (sized ? payload : 0u);
  }
  return 0;
}

static int ptx_param(const char *name, size_t ordinal, size_t *offset, size_t *bytes) {
  char word[2048];
  const char *list = getenv("OFFLOADC_STANDIN_PARAMS");
  for (unsigned i = 0; list_word(list, i, word, sizeof word); i++) {
    size_t n = strlen(name);
    if (strncmp(word, name, n) || word[n] != '=')
      continue;
    const char *at = word + n + 1;
    for (; ordinal && (at = strchr(at, '/')); ordinal--)
      at++;
    return at && sscanf(at, "%zu:%zu", offset, bytes) == 2;
  }
  return 0;
}

API CUresult cuFuncGetParamInfo(struct function *function, size_t ordinal, size_t *offset, size_t *bytes) {
  char wanted[600];
  size_t size, unused;
  bytes = bytes ? bytes : &unused;
  if (!function->module->data)
    return ptx_param(function->name, ordinal, offset, bytes) ? 0 : CUDA_ERROR_INVALID_VALUE;
  snprintf(wanted, sizeof wanted, ".nv.info.%s", function->name);
  const unsigned char *info = section(function->module->data, wanted, &size);
  return info && cubin_param(info, size, ordinal, offset, bytes) ? 0 : CUDA_ERROR_INVALID_VALUE;
}
#endif

API CUresult cuFuncGetAttribute(int *value, int attribute_number, struct function *function) {
  (void)function;
  *value = attribute_number == 0 ? 1024 : 0; /* MAX_THREADS_PER_BLOCK */
  return 0;
}

API CUresult cuFuncSetAttribute(struct function *function, int attribute_number, int value) {
  int code = started("cuFuncSetAttribute");
  record_text("name", function->name);
  record_number("attribute", (uint64_t)attribute_number);
  record_number("value", (uint64_t)value);
  return done(code);
}

API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, struct function *function, void *dynamic,
                                              size_t shared, int limit) {
  (void)function, (void)dynamic, (void)shared, (void)limit;
  *grid = 264;
  *block = 256;
  return 0;
}

static void record_dimensions(const char *key, unsigned x, unsigned y, unsigned z) {
  char text[64];
  snprintf(text, sizeof text, "%u,%u,%u", x, y, z);
  record_text(key, text);
}

/* `extra` is pairs: 1 and the buffer, 2 and a pointer to its size; ended by 0. */
static void record_arguments(void **extra) {
  const void *buffer = NULL;
  size_t size = 0;
  for (; extra && extra[0]; extra += 2) {
    if (extra[0] == (void *)1)
      buffer = extra[1];
    if (extra[0] == (void *)2)
      size = *(size_t *)extra[1];
  }
  record_number("args_size", size);
  record_bytes("args", buffer, buffer ? size : 0);
}

API CUresult cuLaunchKernel(struct function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
  int code = started("cuLaunchKernel");
  record_text("name", function->name);
  record_number("device", (uint64_t)function->module->device);
  record_dimensions("grid", gx, gy, gz);
  record_dimensions("block", bx, by, bz);
  record_number("shared", shared);
  record_number("stream", (uintptr_t)stream);
  record_number("params", params != NULL);
  record_arguments(extra);
  return done(code);
}

API CUresult cuGetErrorString(CUresult code, const char **text) {
  static _Thread_local char buffer[64];
  snprintf(buffer, sizeof buffer, "%sstand-in CUDA error %d", code == 2 ? "out of memory: " : "", code);
  *text = buffer;
  return 0;
}

/* Looked up by the plugin; nothing here needs them. */
#define REFUSED(NAME)                                                                                                  \
  API CUresult NAME(void) { return CUDA_ERROR_INVALID_VALUE; }
REFUSED(cuMemsetD2D8Async)
REFUSED(cuMemsetD2D16Async)
REFUSED(cuMemsetD2D32Async)
REFUSED(cuMemAddressReserve)
REFUSED(cuMemAddressFree)
REFUSED(cuMemMap)
REFUSED(cuMemUnmap)
REFUSED(cuMemCreate)
REFUSED(cuMemRelease)
REFUSED(cuMemSetAccess)
REFUSED(cuMemGetAllocationGranularity)
