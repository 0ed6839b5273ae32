/* Offload C++: kernels and host code in one source. The guide is docs/cxx.md. */
#ifndef OFFLOADC_OFFLOAD_H
#define OFFLOADC_OFFLOAD_H

#pragma GCC system_header

#include <offloadc/prologue.h>

#include <offloadc/launch.h>
#include <offloadc/memory.h>
#include <offloadc/span.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#if __cplusplus < 202002L
/* constexpr, and so callable in kernels, from C++20 on only. */
namespace std {
template <class T>
__device__ __forceinline__ enable_if_t<is_move_constructible_v<T> && is_move_assignable_v<T>> swap(T &a, T &b) {
  T previous = std::move(a);
  a = std::move(b);
  b = std::move(previous);
}
template <class T, class Other = T>
__device__ __forceinline__ T exchange(T &object, Other &&value) {
  T previous = std::move(object);
  object = std::forward<Other>(value);
  return previous;
}
} /* namespace std */
#endif

namespace offloadc {

/* libm's overloads for host code, the device's for device code. */
#define OFFLOADC_USING(name) using std::name;
OFFLOADC_MATH_STD(OFFLOADC_USING)
#undef OFFLOADC_USING
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
__host__ __device__ constexpr T min(T a, T b) noexcept {
  return b < a ? b : a;
}
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
__host__ __device__ constexpr T max(T a, T b) noexcept {
  return a < b ? b : a;
}

/* 1 / sqrt(x). Not in libm: host code computes just that. */
inline double rsqrt(double x) noexcept { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) noexcept { return 1.0f / std::sqrt(x); }
__device__ __forceinline__ double rsqrt(double x) noexcept { return ::rsqrt(x); }
__device__ __forceinline__ float rsqrt(float x) noexcept { return ::rsqrt(x); }

} /* namespace offloadc */

#endif
