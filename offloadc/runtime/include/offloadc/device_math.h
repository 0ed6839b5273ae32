/* The C and C++ mathematical functions for device code.
 *
 * They are declared before any standard header. libstdc++'s <cmath> then brings them into namespace
 * std beside libm's own (its using-declarations take the whole overload set), clang picks libm's in
 * host code and these in device code, and libstdc++'s constexpr float overloads, which clang would
 * otherwise make device functions, stay host functions. Templates of other libraries find them in
 * whatever order the headers are included.
 */
#ifndef OFFLOADC_DEVICE_MATH_H
#define OFFLOADC_DEVICE_MATH_H

#pragma GCC system_header

#include <offloadc/prologue.h>

/* The table: every function that a device library implements, by shape. Another library needs only
 * another pair of OFFLOADC_F64 and OFFLOADC_F32. */
#define OFFLOADC_MATH_UNARY(X)                                                                     \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(cbrt) X(erf) X(erfc) X(tgamma)        \
  X(lgamma) X(logb)
#define OFFLOADC_MATH_BINARY(X) X(pow) X(hypot) X(atan2) X(fmod) X(remainder) X(fdim) X(nextafter)

/* What is an instruction, or a few, on every device: clang's builtins are the best there is. */
#define OFFLOADC_MATH_UNARY_BUILTIN(X) X(fabs) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint) X(sqrt)
#define OFFLOADC_MATH_BINARY_BUILTIN(X) X(copysign) X(fmin) X(fmax)

#if __OFFLOADC_MATH_LIBCLC__
/* libclc's functions have the mangled names of C++ functions: declaring ours names them. */
#define OFFLOADC_F64(name) name
#define OFFLOADC_F32(name) name
#elif __OFFLOADC_TARGET_AMDGCN__
#define OFFLOADC_F64(name) __ocml_##name##_f64
#define OFFLOADC_F32(name) __ocml_##name##_f32
#elif __OFFLOADC_TARGET_NVPTX__
#define OFFLOADC_F64(name) __nv_##name
#define OFFLOADC_F32(name) __nv_##name##f
#else
#define OFFLOADC_F64(name) __builtin_##name
#define OFFLOADC_F32(name) __builtin_##name##f
#endif

#if (__OFFLOADC_TARGET_AMDGCN__ || __OFFLOADC_TARGET_NVPTX__) && !__OFFLOADC_MATH_LIBCLC__
extern "C" {
#define OFFLOADC_DECLARE_UNARY(name)                                             \
  __device__ __attribute__((const)) double OFFLOADC_F64(name)(double) noexcept; \
  __device__ __attribute__((const)) float OFFLOADC_F32(name)(float) noexcept;
#define OFFLOADC_DECLARE_BINARY(name)                                                    \
  __device__ __attribute__((const)) double OFFLOADC_F64(name)(double, double) noexcept; \
  __device__ __attribute__((const)) float OFFLOADC_F32(name)(float, float) noexcept;
OFFLOADC_MATH_UNARY(OFFLOADC_DECLARE_UNARY)
OFFLOADC_DECLARE_UNARY(rsqrt)
OFFLOADC_MATH_BINARY(OFFLOADC_DECLARE_BINARY)
#undef OFFLOADC_DECLARE_UNARY
#undef OFFLOADC_DECLARE_BINARY
__device__ __attribute__((const)) double OFFLOADC_F64(ldexp)(double, int) noexcept;
__device__ __attribute__((const)) float OFFLOADC_F32(ldexp)(float, int) noexcept;
__device__ __attribute__((const)) int OFFLOADC_F64(ilogb)(double) noexcept;
__device__ __attribute__((const)) int OFFLOADC_F32(ilogb)(float) noexcept;
#if __OFFLOADC_TARGET_AMDGCN__
__device__ double __ocml_frexp_f64(double, __attribute__((address_space(5))) int *) noexcept;
__device__ float __ocml_frexp_f32(float, __attribute__((address_space(5))) int *) noexcept;
#else
__device__ double __nv_frexp(double, int *) noexcept;
__device__ float __nv_frexpf(float, int *) noexcept;
#endif
}
#endif

#define OFFLOADC_DEVICE_FN __device__ __forceinline__

namespace offloadc {
namespace detail {

template <class T>
inline constexpr bool is_floating = __is_floating_point(T);

/* double where T is an integer, nothing elsewhere: std::sin(1) is std::sin(1.0). */
template <class T, bool Integer = __is_integral(T)>
struct integer_to_double {};
template <class T>
struct integer_to_double<T, true> {
  using type = double;
};
template <class T>
using integer_to_double_t = typename integer_to_double<T>::type;

/* double where T and U are arithmetic and no overload takes them as they are. */
template <class T, class U, bool Mixed = __is_arithmetic(T) && __is_arithmetic(U) && !__is_same(T, long double) &&
                                         !__is_same(U, long double) && (!__is_same(T, U) || __is_integral(T))>
struct mixed_to_double {};
template <class T, class U>
struct mixed_to_double<T, U, true> {
  using type = double;
};
template <class T, class U>
using mixed_to_double_t = typename mixed_to_double<T, U>::type;

} /* namespace detail */
} /* namespace offloadc */

/* long double is double on devices and something else on hosts: it has no functions here, which is an
 * error where code is generated for such a call. */
#define OFFLOADC_NO_LONG_DOUBLE \
  __device__ __attribute__((error("device code has no long double mathematical functions")))

/* f64 and f32 implement a function; its other forms are made of them. */
#define OFFLOADC_DEFINE_UNARY_FORMS(name, f64, f32)                                         \
  OFFLOADC_DEVICE_FN float name##f(float x) noexcept { return f32(x); }                     \
  OFFLOADC_NO_LONG_DOUBLE long double name(long double) noexcept;                           \
  template <class T>                                                                        \
  OFFLOADC_DEVICE_FN offloadc::detail::integer_to_double_t<T> name(T x) noexcept {          \
    return f64(static_cast<double>(x));                                                     \
  }
#define OFFLOADC_DEFINE_BINARY_FORMS(name, f64, f32)                                               \
  OFFLOADC_DEVICE_FN float name##f(float x, float y) noexcept { return f32(x, y); }                \
  OFFLOADC_NO_LONG_DOUBLE long double name(long double, long double) noexcept;                     \
  template <class T, class U>                                                                      \
  OFFLOADC_DEVICE_FN offloadc::detail::mixed_to_double_t<T, U> name(T x, U y) noexcept {           \
    return f64(static_cast<double>(x), static_cast<double>(y));                                    \
  }
#define OFFLOADC_DEFINE_UNARY(name, f64, f32)                          \
  OFFLOADC_DEVICE_FN double name(double x) noexcept { return f64(x); } \
  OFFLOADC_DEVICE_FN float name(float x) noexcept { return f32(x); }   \
  OFFLOADC_DEFINE_UNARY_FORMS(name, f64, f32)
#define OFFLOADC_DEFINE_BINARY(name, f64, f32)                                      \
  OFFLOADC_DEVICE_FN double name(double x, double y) noexcept { return f64(x, y); } \
  OFFLOADC_DEVICE_FN float name(float x, float y) noexcept { return f32(x, y); }    \
  OFFLOADC_DEFINE_BINARY_FORMS(name, f64, f32)
#if __OFFLOADC_MATH_LIBCLC__
#define OFFLOADC_LIBRARY_FN __device__ __attribute__((const))
#define OFFLOADC_DEFINE_UNARY_LIBRARY(name)         \
  OFFLOADC_LIBRARY_FN double name(double) noexcept; \
  OFFLOADC_LIBRARY_FN float name(float) noexcept;   \
  OFFLOADC_DEFINE_UNARY_FORMS(name, name, name)
#define OFFLOADC_DEFINE_BINARY_LIBRARY(name)                \
  OFFLOADC_LIBRARY_FN double name(double, double) noexcept; \
  OFFLOADC_LIBRARY_FN float name(float, float) noexcept;    \
  OFFLOADC_DEFINE_BINARY_FORMS(name, name, name)
#else
#define OFFLOADC_DEFINE_UNARY_LIBRARY(name) OFFLOADC_DEFINE_UNARY(name, OFFLOADC_F64(name), OFFLOADC_F32(name))
#define OFFLOADC_DEFINE_BINARY_LIBRARY(name) OFFLOADC_DEFINE_BINARY(name, OFFLOADC_F64(name), OFFLOADC_F32(name))
#endif
#define OFFLOADC_DEFINE_UNARY_BUILTIN(name) OFFLOADC_DEFINE_UNARY(name, __builtin_##name, __builtin_##name##f)
#define OFFLOADC_DEFINE_BINARY_BUILTIN(name) OFFLOADC_DEFINE_BINARY(name, __builtin_##name, __builtin_##name##f)
OFFLOADC_MATH_UNARY(OFFLOADC_DEFINE_UNARY_LIBRARY)
OFFLOADC_MATH_BINARY(OFFLOADC_DEFINE_BINARY_LIBRARY)
OFFLOADC_MATH_UNARY_BUILTIN(OFFLOADC_DEFINE_UNARY_BUILTIN)
OFFLOADC_MATH_BINARY_BUILTIN(OFFLOADC_DEFINE_BINARY_BUILTIN)
#undef OFFLOADC_DEFINE_UNARY
#undef OFFLOADC_DEFINE_BINARY
#undef OFFLOADC_DEFINE_UNARY_FORMS
#undef OFFLOADC_DEFINE_BINARY_FORMS
#undef OFFLOADC_DEFINE_UNARY_LIBRARY
#undef OFFLOADC_DEFINE_BINARY_LIBRARY
#undef OFFLOADC_DEFINE_UNARY_BUILTIN
#undef OFFLOADC_DEFINE_BINARY_BUILTIN

#if __OFFLOADC_MATH_LIBCLC__
OFFLOADC_LIBRARY_FN double rsqrt(double) noexcept;
OFFLOADC_LIBRARY_FN float rsqrt(float) noexcept;
OFFLOADC_LIBRARY_FN double ldexp(double, int) noexcept;
OFFLOADC_LIBRARY_FN float ldexp(float, int) noexcept;
OFFLOADC_LIBRARY_FN int ilogb(double) noexcept;
OFFLOADC_LIBRARY_FN int ilogb(float) noexcept;
__device__ double frexp(double, int *) noexcept;
__device__ float frexp(float, int *) noexcept;
#undef OFFLOADC_LIBRARY_FN
#elif __OFFLOADC_TARGET_AMDGCN__ || __OFFLOADC_TARGET_NVPTX__
OFFLOADC_DEVICE_FN double rsqrt(double x) noexcept { return OFFLOADC_F64(rsqrt)(x); }
OFFLOADC_DEVICE_FN float rsqrt(float x) noexcept { return OFFLOADC_F32(rsqrt)(x); }
#else
OFFLOADC_DEVICE_FN double rsqrt(double x) noexcept { return 1.0 / __builtin_sqrt(x); }
OFFLOADC_DEVICE_FN float rsqrt(float x) noexcept { return 1.0f / __builtin_sqrtf(x); }
#endif
OFFLOADC_DEVICE_FN float rsqrtf(float x) noexcept { return rsqrt(x); }

OFFLOADC_DEVICE_FN double fma(double x, double y, double z) noexcept { return __builtin_fma(x, y, z); }
OFFLOADC_DEVICE_FN float fma(float x, float y, float z) noexcept { return __builtin_fmaf(x, y, z); }
OFFLOADC_DEVICE_FN float fmaf(float x, float y, float z) noexcept { return __builtin_fmaf(x, y, z); }

#if !__OFFLOADC_MATH_LIBCLC__
OFFLOADC_DEVICE_FN double ldexp(double x, int e) noexcept { return OFFLOADC_F64(ldexp)(x, e); }
OFFLOADC_DEVICE_FN float ldexp(float x, int e) noexcept { return OFFLOADC_F32(ldexp)(x, e); }
OFFLOADC_DEVICE_FN int ilogb(double x) noexcept { return OFFLOADC_F64(ilogb)(x); }
OFFLOADC_DEVICE_FN int ilogb(float x) noexcept { return OFFLOADC_F32(ilogb)(x); }
#endif
OFFLOADC_DEVICE_FN float ldexpf(float x, int e) noexcept { return OFFLOADC_F32(ldexp)(x, e); }
OFFLOADC_DEVICE_FN double scalbn(double x, int e) noexcept { return OFFLOADC_F64(ldexp)(x, e); }
OFFLOADC_DEVICE_FN float scalbn(float x, int e) noexcept { return OFFLOADC_F32(ldexp)(x, e); }
OFFLOADC_DEVICE_FN float scalbnf(float x, int e) noexcept { return OFFLOADC_F32(ldexp)(x, e); }
OFFLOADC_DEVICE_FN int ilogbf(float x) noexcept { return OFFLOADC_F32(ilogb)(x); }

#if !__OFFLOADC_MATH_LIBCLC__
OFFLOADC_DEVICE_FN double frexp(double x, int *exponent) noexcept {
#if __OFFLOADC_TARGET_AMDGCN__
  int local;
  const double mantissa = __ocml_frexp_f64(x, (__attribute__((address_space(5))) int *)&local);
  *exponent = local;
  return mantissa;
#else
  return OFFLOADC_F64(frexp)(x, exponent);
#endif
}
OFFLOADC_DEVICE_FN float frexp(float x, int *exponent) noexcept {
#if __OFFLOADC_TARGET_AMDGCN__
  int local;
  const float mantissa = __ocml_frexp_f32(x, (__attribute__((address_space(5))) int *)&local);
  *exponent = local;
  return mantissa;
#else
  return OFFLOADC_F32(frexp)(x, exponent);
#endif
}
#endif
OFFLOADC_DEVICE_FN float frexpf(float x, int *exponent) noexcept { return frexp(x, exponent); }

/* C23 7.12.6.18: both parts have the sign of x; the fraction of an infinity is zero. */
OFFLOADC_DEVICE_FN double modf(double x, double *whole) noexcept {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(__builtin_isinf(x) ? 0.0 : x - *whole, x);
}
OFFLOADC_DEVICE_FN float modf(float x, float *whole) noexcept {
  *whole = __builtin_truncf(x);
  return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - *whole, x);
}
OFFLOADC_DEVICE_FN float modff(float x, float *whole) noexcept { return modf(x, whole); }

OFFLOADC_DEVICE_FN long lround(double x) noexcept { return static_cast<long>(__builtin_round(x)); }
OFFLOADC_DEVICE_FN long lround(float x) noexcept { return static_cast<long>(__builtin_roundf(x)); }
OFFLOADC_DEVICE_FN long lrint(double x) noexcept { return static_cast<long>(__builtin_rint(x)); }
OFFLOADC_DEVICE_FN long lrint(float x) noexcept { return static_cast<long>(__builtin_rintf(x)); }

/* Not double and float: libstdc++ defines those itself, constexpr, so they are device functions. */
OFFLOADC_DEVICE_FN int abs(int x) noexcept { return x < 0 ? -x : x; }
OFFLOADC_DEVICE_FN long abs(long x) noexcept { return x < 0 ? -x : x; }
OFFLOADC_DEVICE_FN long long abs(long long x) noexcept { return x < 0 ? -x : x; }
OFFLOADC_DEVICE_FN double abs(double x) noexcept { return __builtin_fabs(x); }
OFFLOADC_DEVICE_FN float abs(float x) noexcept { return __builtin_fabsf(x); }
OFFLOADC_DEVICE_FN long labs(long x) noexcept { return x < 0 ? -x : x; }
OFFLOADC_DEVICE_FN long long llabs(long long x) noexcept { return x < 0 ? -x : x; }

#define OFFLOADC_MINMAX(T)                                                    \
  OFFLOADC_DEVICE_FN T min(T a, T b) noexcept { return b < a ? b : a; }       \
  OFFLOADC_DEVICE_FN T max(T a, T b) noexcept { return a < b ? b : a; }
OFFLOADC_MINMAX(int)
OFFLOADC_MINMAX(unsigned)
OFFLOADC_MINMAX(long)
OFFLOADC_MINMAX(unsigned long)
OFFLOADC_MINMAX(long long)
OFFLOADC_MINMAX(unsigned long long)
#undef OFFLOADC_MINMAX
OFFLOADC_DEVICE_FN float min(float a, float b) noexcept { return __builtin_fminf(a, b); }
OFFLOADC_DEVICE_FN float max(float a, float b) noexcept { return __builtin_fmaxf(a, b); }
OFFLOADC_DEVICE_FN double min(double a, double b) noexcept { return __builtin_fmin(a, b); }
OFFLOADC_DEVICE_FN double max(double a, double b) noexcept { return __builtin_fmax(a, b); }

/* Every name that <cmath> and <cstdlib> also bring into std. */
#define OFFLOADC_MATH_STD(X)                                                                        \
  OFFLOADC_MATH_UNARY(X) OFFLOADC_MATH_BINARY(X) OFFLOADC_MATH_UNARY_BUILTIN(X)                     \
  OFFLOADC_MATH_BINARY_BUILTIN(X) X(fma) X(ldexp) X(scalbn) X(ilogb) X(frexp) X(modf) X(lround)     \
  X(lrint) X(abs)
namespace std {
#define OFFLOADC_USING(name) using ::name;
OFFLOADC_MATH_STD(OFFLOADC_USING)
#undef OFFLOADC_USING
} /* namespace std */

#endif
