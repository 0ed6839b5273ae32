/* The C interface between offload programs and the launch stub that offloadc links into them.
 *
 * C++ programs use <offloadc/offload.h>, which stands on this. Every function here is hidden in
 * the executable or shared object it is linked into: nothing is exported, nothing collides with a
 * CUDA or HIP runtime in the same process.
 *
 * Functions that return int return OFFLOADC_SUCCESS (0) or an error code; the text of the calling
 * thread's last error is offloadc_last_error().
 */
#ifndef OFFLOADC_RUNTIME_H
#define OFFLOADC_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

typedef struct {
  uint32_t x, y, z;
} offloadc_dim3;

/* An ordered list of work for one device. NULL names the current device's default queue. */
typedef struct offloadc_queue_s *offloadc_queue;

enum offloadc_status {
  OFFLOADC_SUCCESS = 0,
  OFFLOADC_ERROR_NO_DEVICE = 1,        /* OFFLOADC_DEVICE names a device that is not there */
  OFFLOADC_ERROR_NO_IMAGE = 2,         /* no image in the program fits the device */
  OFFLOADC_ERROR_INVALID_IMAGE = 3,    /* truncated or corrupt bundle, or the driver refused it */
  OFFLOADC_ERROR_UNKNOWN_KERNEL = 4,   /* not a kernel, or not in the image */
  OFFLOADC_ERROR_INVALID_ARGUMENT = 5, /* wrong count, size, dimensions, handle */
  OFFLOADC_ERROR_OUT_OF_MEMORY = 6,
  OFFLOADC_ERROR_DEVICE = 7,           /* the device or its driver reported a failure */
  OFFLOADC_ERROR_VERSION = 8           /* this liboffload is not one the stub knows */
};

/* Launch the kernel whose host stub is `stub`. args[i] points at the i-th argument's value;
 * sizes[i] is its sizeof on the host (sizes may be NULL: not checked). Each value is copied into the
 * place that the chosen image's own parameter table states. A zero grid extent launches nothing.
 * Asynchronous on GPUs; the values are copied before the call returns. */
int offloadc_launch(const void *stub, offloadc_dim3 grid, offloadc_dim3 block, void *const *args,
                    const uint32_t *sizes, uint32_t arg_count, size_t shared_bytes, offloadc_queue queue);

/* What k<<<grid, block, shared, queue>>>(...) becomes. clang's host stubs name CUDA's or HIP's
 * functions; offloadc renames them to these in the host object. That syntax has no way to return
 * an error, so a failed launch prints it on stderr and ends the program with exit code 1. */
unsigned __offloadc_push_call_configuration(offloadc_dim3 grid, offloadc_dim3 block, size_t shared_bytes,
                                            void *queue);
int __offloadc_pop_call_configuration(offloadc_dim3 *grid, offloadc_dim3 *block, size_t *shared_bytes,
                                      void *queue);
int __offloadc_launch_kernel(const void *stub, offloadc_dim3 grid, offloadc_dim3 block, void **args,
                             size_t shared_bytes, void *queue);

/* Memory of the current device. On the CPU device it is 64-byte aligned host memory. */
int offloadc_alloc(size_t bytes, void **out);
int offloadc_free(void *pointer); /* NULL is fine */
/* Copies return when `source` may be reused and `destination` is complete. */
int offloadc_copy_to_device(void *destination, const void *source, size_t bytes, offloadc_queue queue);
int offloadc_copy_to_host(void *destination, const void *source, size_t bytes, offloadc_queue queue);
int offloadc_copy_on_device(void *destination, const void *source, size_t bytes, offloadc_queue queue);
int offloadc_fill(void *destination, unsigned char value, size_t bytes, offloadc_queue queue);

int offloadc_queue_create(offloadc_queue *out);
int offloadc_queue_destroy(offloadc_queue queue);
/* Waits for everything put into the queue (NULL: the default queue). */
int offloadc_synchronize(offloadc_queue queue);

enum offloadc_device_kind { OFFLOADC_DEVICE_CPU = 0, OFFLOADC_DEVICE_CUDA = 1, OFFLOADC_DEVICE_AMDGPU = 2 };

typedef struct {
  enum offloadc_device_kind kind;
  int index;                 /* among the devices of its kind, as in cuda:0 */
  char name[128];            /* as the driver names it */
  char arch[64];             /* sm_90, gfx90a:sramecc+:xnack-, x86-64 */
  uint32_t warp_size;        /* lanes that run in step */
  uint32_t compute_units;    /* SMs, CUs or cores */
  uint32_t max_block_threads;
  uint64_t memory_bytes;
} offloadc_device_info;

/* The current device: chosen at the first call that needs one, by OFFLOADC_DEVICE
 * (cpu | cuda:N | amdgpu:N) or else the first GPU that an image fits, or else the CPU device. */
int offloadc_current_device(offloadc_device_info *out);

/* What the check of host and device found when the program was built, one sentence a source, joined
 * by "; ". For people. Valid while the program runs. */
const char *offloadc_contract_verdict(void);

/* The text of the calling thread's last error, "" if none. Valid until its next failing call. */
const char *offloadc_last_error(void);

#pragma GCC visibility pop

/* ---------------------------------------------------------------------------------------------
 * What lies in the program.
 *
 * Each fat object holds, in section .llvm.offloading, LLVM offload binaries (version 1, one an
 * image, concatenated, 8-aligned), and in section offloadc_images one record that points at them.
 * Each image carries these string entries:
 *   triple, arch        as LLVM's tools know them
 *   offloadc.unit       the hash that clang puts behind __intern__ in the host names of this
 *                       translation unit's internal kernels (lower-case hex)
 *   offloadc.kernels    one line a kernel: NAME SP ARGS_SIZE {SP OFFSET:SIZE:ALIGN} LF
 *                       bytes in the kernel-argument buffer; ALIGN 0: not stated. Device names.
 *   offloadc.contract   what offloadc_contract_verdict() says of this unit
 * A kernel's host name is its entry's name in section llvm_offload_entries; an internal kernel's
 * host name is its device name followed by __intern__ and the unit's hash.
 */
typedef struct {
  const unsigned char *begin, *end;
} offloadc_image_record;

/* ---------------------------------------------------------------------------------------------
 * CPU images: x86-64 shared objects that export one object, offloadc_cpu_image.
 */
enum { OFFLOADC_CPU_IMAGE_VERSION = 1 };

/* Kernel meets a barrier or a warp operation: threads of a block must be able to wait. */
enum { OFFLOADC_CPU_KERNEL_COOPERATIVE = 1 };

typedef struct {
  const char *name;
  /* Runs one thread of the block; the engine has set its ids. args[i] points at argument i. */
  void (*thread)(void *const *args);
  uint32_t param_count;
  uint32_t flags;
} offloadc_cpu_kernel;

typedef struct {
  uint32_t version;
  uint32_t kernel_count;
  const offloadc_cpu_kernel *kernels;
  /* Runs the blocks; returns when all are done. 0, or an errno value (ENOMEM, ...). */
  int (*launch)(const offloadc_cpu_kernel *kernel, void *const *args, offloadc_dim3 grid, offloadc_dim3 block,
                size_t shared_bytes);
} offloadc_cpu_image_t;

#ifdef __cplusplus
}
#endif
#endif
