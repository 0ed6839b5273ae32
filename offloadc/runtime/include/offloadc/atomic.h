/* Atomics on global and shared memory: relaxed, seen by the whole device. They work in host code too,
 * so that a __host__ __device__ function may use them. */
#ifndef OFFLOADC_ATOMIC_H
#define OFFLOADC_ATOMIC_H

#pragma GCC system_header

#include <offloadc/prologue.h>

namespace offloadc {
namespace detail {

template <class T>
struct identity {
  using type = T;
};
/* The second operand converts to the first one's type instead of taking part in deduction. */
template <class T>
using operand_t = typename identity<T>::type;

template <class T>
struct atomic_value {
  static_assert((__is_integral(T) || __is_same(T, float) || __is_same(T, double)) &&
                    (sizeof(T) == 4 || sizeof(T) == 8),
                "offloadc atomics work on 32- and 64-bit integers, float and double");
  static constexpr bool ok = true;
};

} /* namespace detail */

#define OFFLOADC_ATOMIC_FETCH(name, builtin)                                                            \
  template <class T>                                                                                    \
  __host__ __device__ __forceinline__ T name(T *address, detail::operand_t<T> value) noexcept {         \
    static_assert(detail::atomic_value<T>::ok);                                                         \
    return builtin(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                            \
  }
/* Each returns what was there before. min and max of floating point ignore a NaN operand. */
OFFLOADC_ATOMIC_FETCH(atomic_add, __scoped_atomic_fetch_add)
OFFLOADC_ATOMIC_FETCH(atomic_sub, __scoped_atomic_fetch_sub)
OFFLOADC_ATOMIC_FETCH(atomic_min, __scoped_atomic_fetch_min)
OFFLOADC_ATOMIC_FETCH(atomic_max, __scoped_atomic_fetch_max)
OFFLOADC_ATOMIC_FETCH(atomic_and, __scoped_atomic_fetch_and)
OFFLOADC_ATOMIC_FETCH(atomic_or, __scoped_atomic_fetch_or)
OFFLOADC_ATOMIC_FETCH(atomic_xor, __scoped_atomic_fetch_xor)
#undef OFFLOADC_ATOMIC_FETCH

template <class T>
__host__ __device__ __forceinline__ T atomic_exchange(T *address, detail::operand_t<T> value) noexcept {
  static_assert(detail::atomic_value<T>::ok);
  T previous;
  __scoped_atomic_exchange(address, &value, &previous, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return previous;
}

/* Stores `desired` where `expected` was found, compared bit by bit; returns what was found. */
template <class T>
__host__ __device__ __forceinline__ T atomic_compare_exchange(T *address, detail::operand_t<T> expected,
                                                              detail::operand_t<T> desired) noexcept {
  static_assert(detail::atomic_value<T>::ok);
  __scoped_atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_DEVICE);
  return expected;
}

template <class T>
__host__ __device__ __forceinline__ T atomic_load(const T *address) noexcept {
  static_assert(detail::atomic_value<T>::ok);
  T value;
  __scoped_atomic_load(address, &value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return value;
}

template <class T>
__host__ __device__ __forceinline__ void atomic_store(T *address, detail::operand_t<T> value) noexcept {
  static_assert(detail::atomic_value<T>::ok);
  __scoped_atomic_store(address, &value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

} /* namespace offloadc */

/* CUDA's spelling. */
#define OFFLOADC_CUDA_ATOMIC(cuda, own)                                                               \
  template <class T>                                                                                  \
  __device__ __forceinline__ T cuda(T *address, offloadc::detail::operand_t<T> value) noexcept {      \
    return offloadc::own(address, value);                                                             \
  }
OFFLOADC_CUDA_ATOMIC(atomicAdd, atomic_add)
OFFLOADC_CUDA_ATOMIC(atomicSub, atomic_sub)
OFFLOADC_CUDA_ATOMIC(atomicMin, atomic_min)
OFFLOADC_CUDA_ATOMIC(atomicMax, atomic_max)
OFFLOADC_CUDA_ATOMIC(atomicAnd, atomic_and)
OFFLOADC_CUDA_ATOMIC(atomicOr, atomic_or)
OFFLOADC_CUDA_ATOMIC(atomicXor, atomic_xor)
OFFLOADC_CUDA_ATOMIC(atomicExch, atomic_exchange)
#undef OFFLOADC_CUDA_ATOMIC

template <class T>
__device__ __forceinline__ T atomicCAS(T *address, offloadc::detail::operand_t<T> expected,
                                       offloadc::detail::operand_t<T> desired) noexcept {
  return offloadc::atomic_compare_exchange(address, expected, desired);
}

#endif
