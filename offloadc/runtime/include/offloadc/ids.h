/* Who am I: thread, block, barrier. Every device's own instructions behind one set of names. */
#ifndef OFFLOADC_IDS_H
#define OFFLOADC_IDS_H

#pragma GCC system_header

#include <offloadc/prologue.h>

#if __OFFLOADC_TARGET_CPU__
extern "C" {
#define OFFLOADC_CPU_ID(name)                                                       \
  __device__ __attribute__((const)) __UINT32_TYPE__ __offloadc_cpu_##name##_x(void); \
  __device__ __attribute__((const)) __UINT32_TYPE__ __offloadc_cpu_##name##_y(void); \
  __device__ __attribute__((const)) __UINT32_TYPE__ __offloadc_cpu_##name##_z(void);
OFFLOADC_CPU_ID(thread_id)
OFFLOADC_CPU_ID(block_id)
OFFLOADC_CPU_ID(num_threads)
OFFLOADC_CPU_ID(num_blocks)
#undef OFFLOADC_CPU_ID
__device__ __attribute__((convergent)) void __offloadc_cpu_barrier(void);
__device__ void *__offloadc_cpu_dynamic_shared(void);
}
#endif

/* In the host pass device code is checked and never generated: its primitives are only declared. */
#if __OFFLOADC_TARGET_NVPTX__
#define OFFLOADC_PRIMITIVE(type, name, nvptx, amdgcn, cpu) \
  __device__ __forceinline__ type name() noexcept { return nvptx; }
#elif __OFFLOADC_TARGET_AMDGCN__
#define OFFLOADC_PRIMITIVE(type, name, nvptx, amdgcn, cpu) \
  __device__ __forceinline__ type name() noexcept { return amdgcn; }
#elif __OFFLOADC_TARGET_CPU__
#define OFFLOADC_PRIMITIVE(type, name, nvptx, amdgcn, cpu) \
  __device__ __forceinline__ type name() noexcept { return cpu; }
#else
#define OFFLOADC_PRIMITIVE(type, name, nvptx, amdgcn, cpu) __device__ type name() noexcept;
#endif

namespace offloadc {
namespace detail {

#define OFFLOADC_AXIS(d)                                                                           \
  OFFLOADC_PRIMITIVE(unsigned, thread_id_##d, __nvvm_read_ptx_sreg_tid_##d(),                      \
                     __builtin_amdgcn_workitem_id_##d(), __offloadc_cpu_thread_id_##d())           \
  OFFLOADC_PRIMITIVE(unsigned, block_id_##d, __nvvm_read_ptx_sreg_ctaid_##d(),                     \
                     __builtin_amdgcn_workgroup_id_##d(), __offloadc_cpu_block_id_##d())           \
  OFFLOADC_PRIMITIVE(unsigned, block_dim_##d, __nvvm_read_ptx_sreg_ntid_##d(),                     \
                     __builtin_amdgcn_workgroup_size_##d(), __offloadc_cpu_num_threads_##d())      \
  OFFLOADC_PRIMITIVE(unsigned, grid_dim_##d, __nvvm_read_ptx_sreg_nctaid_##d(),                    \
                     __builtin_amdgcn_grid_size_##d() / __builtin_amdgcn_workgroup_size_##d(),     \
                     __offloadc_cpu_num_blocks_##d())
OFFLOADC_AXIS(x)
OFFLOADC_AXIS(y)
OFFLOADC_AXIS(z)
#undef OFFLOADC_AXIS

/* An object without state: its members are properties, so threadIdx.x is one instruction and no
 * variable of that name ever reaches the image. */
#define OFFLOADC_ID_VARIABLE(type, name)                                                  \
  struct type {                                                                           \
    __device__ static __forceinline__ unsigned get_x() noexcept { return name##_x(); }    \
    __device__ static __forceinline__ unsigned get_y() noexcept { return name##_y(); }    \
    __device__ static __forceinline__ unsigned get_z() noexcept { return name##_z(); }    \
    __declspec(property(get = get_x)) unsigned x;                                         \
    __declspec(property(get = get_y)) unsigned y;                                         \
    __declspec(property(get = get_z)) unsigned z;                                         \
    __device__ __forceinline__ operator dim3() const noexcept {                           \
      return dim3(name##_x(), name##_y(), name##_z());                                    \
    }                                                                                     \
  };
OFFLOADC_ID_VARIABLE(thread_index, thread_id)
OFFLOADC_ID_VARIABLE(block_index, block_id)
OFFLOADC_ID_VARIABLE(block_extent, block_dim)
OFFLOADC_ID_VARIABLE(grid_extent, grid_dim)
#undef OFFLOADC_ID_VARIABLE

} /* namespace detail */

__device__ __forceinline__ dim3 thread_id() noexcept {
  return dim3(detail::thread_id_x(), detail::thread_id_y(), detail::thread_id_z());
}
__device__ __forceinline__ dim3 block_id() noexcept {
  return dim3(detail::block_id_x(), detail::block_id_y(), detail::block_id_z());
}
__device__ __forceinline__ dim3 block_dim() noexcept {
  return dim3(detail::block_dim_x(), detail::block_dim_y(), detail::block_dim_z());
}
__device__ __forceinline__ dim3 grid_dim() noexcept {
  return dim3(detail::grid_dim_x(), detail::grid_dim_y(), detail::grid_dim_z());
}

/* Index along x in the whole grid. 64 bits: grid times block passes 2^32 on every GPU. */
__device__ __forceinline__ __SIZE_TYPE__ global_id() noexcept {
  return static_cast<__SIZE_TYPE__>(detail::block_id_x()) * detail::block_dim_x() + detail::thread_id_x();
}
__device__ __forceinline__ __SIZE_TYPE__ global_id_y() noexcept {
  return static_cast<__SIZE_TYPE__>(detail::block_id_y()) * detail::block_dim_y() + detail::thread_id_y();
}
__device__ __forceinline__ __SIZE_TYPE__ global_id_z() noexcept {
  return static_cast<__SIZE_TYPE__>(detail::block_id_z()) * detail::block_dim_z() + detail::thread_id_z();
}
/* Number of threads along x in the whole grid: the step of a grid-stride loop. */
__device__ __forceinline__ __SIZE_TYPE__ global_size() noexcept {
  return static_cast<__SIZE_TYPE__>(detail::grid_dim_x()) * detail::block_dim_x();
}
/* This thread's place in its block, x fastest. */
__device__ __forceinline__ unsigned linear_thread_id() noexcept {
  return (detail::thread_id_z() * detail::block_dim_y() + detail::thread_id_y()) * detail::block_dim_x() +
         detail::thread_id_x();
}

/* Waits for every thread of the block; what they wrote before is visible to the block after. */
__device__ __attribute__((convergent)) __forceinline__ void barrier() noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  __syncthreads();
#elif __OFFLOADC_TARGET_AMDGCN__
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#elif __OFFLOADC_TARGET_CPU__
  __offloadc_cpu_barrier();
#endif
}

/* The shared memory whose size the launch states. One block of bytes: every call returns its start. */
template <class T>
__device__ __forceinline__ T *dynamic_shared() noexcept {
  static_assert(alignof(T) <= 128, "dynamic shared memory is aligned to 128 bytes");
#if __OFFLOADC_TARGET_CPU__
  return static_cast<T *>(__offloadc_cpu_dynamic_shared());
#else
  extern __shared__ __attribute__((aligned(128))) unsigned char __offloadc_dynamic_shared[];
  return reinterpret_cast<T *>(__offloadc_dynamic_shared);
#endif
}

/* Static shared memory for types that __shared__ refuses because they have a constructor, such as
 * std::complex: `__shared__ offloadc::shared<std::complex<double>, 256> tile;`. Nothing is constructed:
 * write an element before you read it. More extents make it multi-dimensional: shared<T, 16, 17>. */
template <class T, __SIZE_TYPE__ N, __SIZE_TYPE__... Rest>
struct shared {
  static_assert(__is_trivially_copyable(T), "shared<T, N>: T must be trivially copyable");
  using row = shared<T, Rest...>;
  alignas(row) unsigned char storage[sizeof(row) * N];

  __device__ __forceinline__ row &operator[](__SIZE_TYPE__ i) noexcept { return reinterpret_cast<row *>(storage)[i]; }
  __device__ __forceinline__ T *data() noexcept { return reinterpret_cast<T *>(storage); }
  __host__ __device__ static constexpr __SIZE_TYPE__ size() noexcept { return N; }
};

template <class T, __SIZE_TYPE__ N>
struct shared<T, N> {
  static_assert(__is_trivially_copyable(T), "shared<T, N>: T must be trivially copyable");
  alignas(T) unsigned char storage[sizeof(T) * N];

  __device__ __forceinline__ T &operator[](__SIZE_TYPE__ i) noexcept { return reinterpret_cast<T *>(storage)[i]; }
  __device__ __forceinline__ T *data() noexcept { return reinterpret_cast<T *>(storage); }
  __device__ __forceinline__ T *begin() noexcept { return data(); }
  __device__ __forceinline__ T *end() noexcept { return data() + N; }
  __host__ __device__ static constexpr __SIZE_TYPE__ size() noexcept { return N; }
};

} /* namespace offloadc */

extern const __device__ __attribute__((weak)) offloadc::detail::thread_index threadIdx;
extern const __device__ __attribute__((weak)) offloadc::detail::block_index blockIdx;
extern const __device__ __attribute__((weak)) offloadc::detail::block_extent blockDim;
extern const __device__ __attribute__((weak)) offloadc::detail::grid_extent gridDim;

/* Where the aux or the main target is NVPTX, __syncthreads() is a builtin of clang. */
#if __OFFLOADC_TARGET_AMDGCN__
__device__ __attribute__((convergent)) __forceinline__ void __syncthreads() { offloadc::barrier(); }
#endif

__device__ __forceinline__ void __threadfence() noexcept {
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE);
}
__device__ __forceinline__ void __threadfence_block() noexcept {
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_WRKGRP);
}

#endif
