#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "gpu.h"
#include "gpu_session.h"

api_device offloadc_host_device;
static struct gpus gpus;

static const struct backend *backend_of(api_device device) {
  api_platform platform;
  int number = 0;
  if (offloadc_api.olGetDeviceInfo(device, API_DEVICE_PLATFORM, sizeof platform, &platform) ||
      offloadc_api.olGetPlatformInfo(platform, API_PLATFORM_BACKEND, sizeof number, &number))
    return NULL;
  for (size_t i = 0; i < BACKEND_COUNT; i++)
    if (offloadc_backends[i]->api_number == number)
      return offloadc_backends[i];
  return NULL;
}

static bool is_host(api_device device) {
  int type = 0;
  return !offloadc_api.olGetDeviceInfo(device, API_DEVICE_TYPE, sizeof type, &type) && type == API_DEVICE_TYPE_HOST;
}

static void device_text(api_device device, int info, char *text, size_t size) {
  size_t need = 0;
  *text = 0;
  if (offloadc_api.olGetDeviceInfoSize(device, info, &need) || !need)
    return;
  char *whole = malloc(need + 1);
  if (whole && !offloadc_api.olGetDeviceInfo(device, info, need, whole)) {
    whole[need] = 0;
    snprintf(text, size, "%s", whole);
  }
  free(whole);
}

static uint32_t device_number(api_device device, int info) {
  uint32_t value = 0;
  offloadc_api.olGetDeviceInfo(device, info, sizeof value, &value);
  return value;
}

static uint64_t device_size(api_device device, int info) {
  uint64_t value = 0;
  offloadc_api.olGetDeviceInfo(device, info, sizeof value, &value);
  return value;
}

static offloadc_dim3 device_dimensions(api_device device, int info) {
  struct api_dimensions value = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  offloadc_api.olGetDeviceInfo(device, info, sizeof value, &value);
  return (offloadc_dim3){value.x, value.y, value.z};
}

static struct launch_limits limits_of(const struct gpu *gpu, const struct gpu_traits *traits) {
  static const offloadc_dim3 NO_LIMIT = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  bool by_threads = gpu->backend->limits_grid_by_threads;
  return (struct launch_limits){
      .block = device_dimensions(gpu->handle, API_DEVICE_MAX_GROUP_SIZE_PER_DIMENSION),
      .grid = by_threads ? NO_LIMIT : device_dimensions(gpu->handle, API_DEVICE_MAX_SIZE_PER_DIMENSION),
      .grid_threads = by_threads ? UINT32_MAX : 0,
      .shared_bytes =
          traits->shared_bytes ? traits->shared_bytes : device_size(gpu->handle, API_DEVICE_LOCAL_MEMORY),
  };
}

static void describe(struct gpu *gpu, int index, const struct gpu_traits *traits) {
  struct device *device = &gpu->device;
  offloadc_device_info *info = &device->info;
  device->operations = &offloadc_gpu_operations;
  info->kind = gpu->backend->kind;
  info->index = index;
  snprintf(device->label, sizeof device->label, "%s:%d", gpu->backend->word, index);
  device_text(gpu->handle, API_DEVICE_PRODUCT_NAME, info->name, sizeof info->name);
  snprintf(info->arch, sizeof info->arch, "%s", traits->arch);
  info->warp_size = traits->warp_size;
  info->compute_units = device_number(gpu->handle, API_DEVICE_COMPUTE_UNITS);
  info->max_block_threads = device_number(gpu->handle, API_DEVICE_MAX_GROUP_SIZE);
  info->memory_bytes = device_size(gpu->handle, API_DEVICE_GLOBAL_MEMORY);
  device->limits = limits_of(gpu, traits);
}

static int count_of(const struct backend *backend) {
  int count = 0;
  for (size_t i = 0; i < gpus.count; i++)
    count += gpus.items[i].backend == backend;
  return count;
}

static bool add_device(api_device device, void *out_of_memory) {
  const struct backend *backend = backend_of(device);
  struct gpu_traits traits = {.arch = ""};
  char uid[128];
  if (is_host(device))
    offloadc_host_device = device;
  if (is_host(device) || !backend)
    return true;
  struct gpu *items = realloc(gpus.items, (gpus.count + 1) * sizeof *items);
  if (!items) {
    *(bool *)out_of_memory = true;
    return false;
  }
  gpus.items = items;
  struct gpu *gpu = &items[gpus.count];
  *gpu = (struct gpu){.backend = backend, .handle = device};
  int index = count_of(backend);
  device_text(device, API_DEVICE_UID, uid, sizeof uid);
  if (!backend->describe((unsigned)index, uid, &traits))
    snprintf(traits.arch, sizeof traits.arch, "unknown"); /* fits no image, but keeps its number */
  describe(gpu, index, &traits);
  gpus.count++;
  return true;
}

int offloadc_list_gpus(struct gpus *out) {
  bool out_of_memory = false;
  int status = offloadc_start_session();
  if (status)
    return status;
  api_result result = offloadc_api.olIterateDevices(add_device, &out_of_memory);
  if (result)
    return offloadc_fail(OFFLOADC_ERROR_DEVICE, "liboffload could not list its devices: %s (error %d)",
                         offloadc_api_details(result), result->code);
  if (out_of_memory)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while listing devices");
  for (size_t i = 0; i < gpus.count; i++)
    gpus.items[i].device.arch = gpus.items[i].device.info.arch; /* the array no longer moves */
  *out = gpus;
  return offloadc_host_device || !gpus.count ? OFFLOADC_SUCCESS
                             : offloadc_fail(OFFLOADC_ERROR_DEVICE, "liboffload lists no host device; reinstall it");
}
