/* The stub's own declarations against LLVM's header: compiling is the test. */
#include "offload_api.h"

#include <OffloadAPI.h>

#define SAME(OURS, THEIRS) _Static_assert((int)(OURS) == (int)(THEIRS), #OURS " is " #THEIRS)
#define SAME_PLACE(OURS, OUR_MEMBER, THEIRS, THEIR_MEMBER)                                                             \
  _Static_assert(offsetof(OURS, OUR_MEMBER) == offsetof(THEIRS, THEIR_MEMBER) &&                                       \
                     sizeof(((OURS *)0)->OUR_MEMBER) == sizeof(((THEIRS *)0)->THEIR_MEMBER),                           \
                 #OUR_MEMBER " is " #THEIR_MEMBER)
#define SAME_SIZE(OURS, THEIRS) _Static_assert(sizeof(OURS) == sizeof(THEIRS), #OURS " is " #THEIRS)

SAME(API_ALLOC_DEVICE, OL_ALLOC_TYPE_DEVICE);
SAME(API_SYMBOL_KERNEL, OL_SYMBOL_KIND_KERNEL);
SAME(API_DEVICE_TYPE_GPU, OL_DEVICE_TYPE_GPU);
SAME(API_DEVICE_TYPE_HOST, OL_DEVICE_TYPE_HOST);
SAME(API_BACKEND_CUDA, OL_PLATFORM_BACKEND_CUDA);
SAME(API_BACKEND_AMDGPU, OL_PLATFORM_BACKEND_AMDGPU);
SAME(API_BACKEND_HOST, OL_PLATFORM_BACKEND_HOST);
SAME(API_PLATFORM_BACKEND, OL_PLATFORM_INFO_BACKEND);
SAME(API_UNKNOWN, OL_ERRC_UNKNOWN);
SAME(API_NOT_FOUND, OL_ERRC_NOT_FOUND);
SAME(API_OUT_OF_RESOURCES, OL_ERRC_OUT_OF_RESOURCES);
SAME(API_DEVICE_TYPE, OL_DEVICE_INFO_TYPE);
SAME(API_DEVICE_PLATFORM, OL_DEVICE_INFO_PLATFORM);
SAME(API_DEVICE_PRODUCT_NAME, OL_DEVICE_INFO_PRODUCT_NAME);
SAME(API_DEVICE_UID, OL_DEVICE_INFO_UID);
SAME(API_DEVICE_MAX_GROUP_SIZE, OL_DEVICE_INFO_MAX_WORK_GROUP_SIZE);
SAME(API_DEVICE_MAX_GROUP_SIZE_PER_DIMENSION, OL_DEVICE_INFO_MAX_WORK_GROUP_SIZE_PER_DIMENSION);
SAME(API_DEVICE_MAX_SIZE_PER_DIMENSION, OL_DEVICE_INFO_MAX_WORK_SIZE_PER_DIMENSION);
SAME(API_DEVICE_COMPUTE_UNITS, OL_DEVICE_INFO_NUM_COMPUTE_UNITS);
SAME(API_DEVICE_GLOBAL_MEMORY, OL_DEVICE_INFO_GLOBAL_MEM_SIZE);
SAME(API_DEVICE_LOCAL_MEMORY, OL_DEVICE_INFO_WORK_GROUP_LOCAL_MEM_SIZE);

SAME_SIZE(struct api_error, ol_error_struct_t);
SAME_PLACE(struct api_error, code, ol_error_struct_t, Code);
SAME_PLACE(struct api_error, details, ol_error_struct_t, Details);
SAME_SIZE(struct api_dimensions, ol_dimensions_t);
SAME_PLACE(struct api_dimensions, z, ol_dimensions_t, z);
SAME_SIZE(struct api_launch_size, ol_kernel_launch_size_args_t);
SAME_PLACE(struct api_launch_size, dimensions, ol_kernel_launch_size_args_t, Dimensions);
SAME_PLACE(struct api_launch_size, group_count, ol_kernel_launch_size_args_t, NumGroups);
SAME_PLACE(struct api_launch_size, group_size, ol_kernel_launch_size_args_t, GroupSize);
SAME_PLACE(struct api_launch_size, dynamic_shared_memory, ol_kernel_launch_size_args_t, DynSharedMemory);
SAME_SIZE(int, ol_device_info_t);
SAME_SIZE(int, ol_alloc_type_t);
SAME_SIZE(int, ol_symbol_kind_t);
SAME_SIZE(int, ol_platform_info_t);

/* Each call with the stub's argument types, handles and structures turned into theirs by name alone: a function that
 * takes more, fewer or other arguments does not compile. */
#define D(device) ((ol_device_handle_t)(device))
#define Q(queue) ((ol_queue_handle_t)(queue))

ol_result_t calls(api_device device, api_queue queue, api_platform platform, api_program program, api_symbol symbol,
                  const struct api_launch_size *size, void *memory, size_t bytes);

ol_result_t calls(api_device device, api_queue queue, api_platform platform, api_program program, api_symbol symbol,
                  const struct api_launch_size *size, void *memory, size_t bytes) {
  ol_queue_handle_t made_queue;
  ol_program_handle_t made_program;
  ol_symbol_handle_t made_symbol;
  ol_result_t (*initialise)() = olInit, (*shut_down)() = olShutDown;
  ol_result_t results[] = {
      initialise(),
      shut_down(),
      olIterateDevices((bool (*)(ol_device_handle_t, void *))0, memory),
      olGetPlatformInfo((ol_platform_handle_t)platform, OL_PLATFORM_INFO_BACKEND, bytes, memory),
      olGetDeviceInfo(D(device), OL_DEVICE_INFO_UID, bytes, memory),
      olGetDeviceInfoSize(D(device), OL_DEVICE_INFO_UID, &bytes),
      olMemAlloc(D(device), OL_ALLOC_TYPE_DEVICE, bytes, &memory),
      olMemFree(memory),
      olMemcpy(Q(queue), memory, D(device), (const void *)memory, D(device), bytes),
      olMemFill(Q(queue), memory, bytes, (const void *)memory, bytes),
      olCreateQueue(D(device), &made_queue),
      olDestroyQueue(Q(queue)),
      olSyncQueue(Q(queue)),
      olCreateProgram(D(device), (const void *)memory, bytes, &made_program),
      olGetSymbol((ol_program_handle_t)program, "", OL_SYMBOL_KIND_KERNEL, &made_symbol),
      olLaunchKernel(Q(queue), D(device), (ol_symbol_handle_t)symbol, (const void *)memory, bytes,
                     (const ol_kernel_launch_size_args_t *)size),
  };
  return results[0];
}
