/* Included by the driver before the first line of every offload C++ source, in every pass.
 *
 * It must stay free of libc and standard library headers: those fix glibc's feature macros, and a
 * source that starts with #define _GNU_SOURCE or _FILE_OFFSET_BITS would come too late.
 */
#ifndef OFFLOADC_PROLOGUE_H
#define OFFLOADC_PROLOGUE_H

#pragma GCC system_header

#ifndef __OFFLOADC_DEVICE_PASS__
#define __OFFLOADC_DEVICE_PASS__ 0
#endif
#ifndef __OFFLOADC_TARGET_NVPTX__
#define __OFFLOADC_TARGET_NVPTX__ 0
#endif
#ifndef __OFFLOADC_TARGET_AMDGCN__
#define __OFFLOADC_TARGET_AMDGCN__ 0
#endif
#ifndef __OFFLOADC_TARGET_CPU__
#define __OFFLOADC_TARGET_CPU__ 0
#endif
/* which library's names device math has: LLVM's libclc, or NVIDIA's and AMD's own */
#ifndef __OFFLOADC_MATH_LIBCLC__
#define __OFFLOADC_MATH_LIBCLC__ 0
#endif
#define __OFFLOADC__ 1

/* clang's predefined macros that would mislead the headers of others; docs/cxx.md has the table.
 * Host code is x86-64 code even though CUDA's host mode says __NVPTX__, the CPU device is no CUDA
 * device, __HIPCC__ promises an SDK that is not there, and the list of archs differs by pass. */
#if !__OFFLOADC_TARGET_NVPTX__
#undef __NVPTX__
#undef __PTX__
#undef __CUDA_ARCH__
#endif
#undef __HIPCC__
#undef __CUDA_ARCH_LIST__

/* Eigen includes headers of the CUDA SDK where __CUDA_ARCH__ is defined; there is no SDK. */
#ifndef EIGEN_NO_CUDA
#define EIGEN_NO_CUDA 1
#endif

/* -Wall brings this one back; it is about sources that nvcc shall compile too. */
#pragma clang diagnostic ignored "-Wcuda-compat"

/* Each executable and shared object has its own runtime: host code of this header must not be merged
 * with another module's copy, which would look for its kernels in the other module. */
#if __OFFLOADC_DEVICE_PASS__
#define OFFLOADC_HIDDEN
#else
#define OFFLOADC_HIDDEN __attribute__((visibility("hidden")))
#endif

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

/* HIP mode checks CUDA's attribute but generates nothing from it; AMD's own one bounds registers. */
#if __OFFLOADC_TARGET_AMDGCN__
#define OFFLOADC_FIRST_ARGUMENT(first, ...) first
#define __launch_bounds__(...) \
  __attribute__((amdgpu_flat_work_group_size(1, OFFLOADC_FIRST_ARGUMENT(__VA_ARGS__, 0))))
#else
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif

/* Extents of a grid or of a block. Takes any integers, so that (n + 255) / 256 of a size_t needs no
 * cast; what does not fit into 32 bits is cut off (offloadc::launch checks it first). */
struct dim3 {
  unsigned x, y, z;

  template <class X = unsigned, class Y = unsigned, class Z = unsigned>
  __host__ __device__ constexpr dim3(X x_ = 1, Y y_ = 1, Z z_ = 1) noexcept
      : x(static_cast<unsigned>(x_)), y(static_cast<unsigned>(y_)), z(static_cast<unsigned>(z_)) {
    static_assert(__is_integral(X) && __is_integral(Y) && __is_integral(Z), "dim3 is made of integers");
  }
};

typedef struct offloadc_queue_s *cudaStream_t;
typedef int cudaError_t;

/* clang's front end looks these up by name to lower k<<<...>>>(...); offloadc renames what is left of
 * them in the host object, so nothing here ever binds to a CUDA or HIP runtime. */
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, __SIZE_TYPE__ shared_bytes = 0, void *queue = 0);
cudaError_t cudaConfigureCall(dim3 grid, dim3 block, __SIZE_TYPE__ shared_bytes = 0, void *queue = 0);
cudaError_t cudaLaunchKernel(const void *stub, dim3 grid, dim3 block, void **args, __SIZE_TYPE__ shared_bytes,
                             cudaStream_t queue);
#ifdef __HIP__
typedef cudaStream_t hipStream_t;
typedef int hipError_t;
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, __SIZE_TYPE__ shared_bytes = 0, void *queue = 0);
hipError_t hipConfigureCall(dim3 grid, dim3 block, __SIZE_TYPE__ shared_bytes = 0, void *queue = 0);
hipError_t hipLaunchKernel(const void *stub, dim3 grid, dim3 block, void **args, __SIZE_TYPE__ shared_bytes,
                           hipStream_t queue);
#endif

/* clang wraps <new> with device operators that name these two before <stdlib.h> declared them. */
void *malloc(__SIZE_TYPE__) noexcept(true);
void free(void *) noexcept(true);
}

#include <offloadc/device_math.h>
#include <offloadc/ids.h>
#include <offloadc/warp.h>
#include <offloadc/atomic.h>

/* assert() in a kernel ends it; there is no portable way to print from all devices. */
extern "C" __device__ __attribute__((noreturn)) inline void __assert_fail(const char *, const char *, unsigned,
                                                                          const char *) noexcept(true) {
  __builtin_trap();
}

#endif
