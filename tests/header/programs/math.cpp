// Every mathematical function in float and double, as std::, global and offloadc:: names, against libm.
#include <offloadc/offload.h>

#include <limits>
#include <vector>

#include "check.h"

#define UNARY(X)                                                                                       \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)      \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(erf) X(erfc) X(tgamma)    \
  X(lgamma) X(logb) X(fabs) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint)
#define BINARY(X) X(pow) X(hypot) X(atan2) X(fmod) X(remainder) X(fdim) X(nextafter) X(copysign) X(fmin) X(fmax)

template <class T>
__host__ __device__ std::size_t fill_std(T *out, T x, T y) {
  std::size_t i = 0;
#define X(f) out[i++] = std::f(x);
  UNARY(X)
#undef X
#define X(f) out[i++] = std::f(x, y);
  BINARY(X)
#undef X
  int e = 0;
  T whole = 0;
  out[i++] = std::fma(x, y, T(1));
  out[i++] = std::ldexp(x, 3);
  out[i++] = std::scalbn(x, -2);
  out[i++] = std::frexp(x, &e);
  out[i++] = T(e);
  out[i++] = std::modf(x, &whole);
  out[i++] = whole;
  out[i++] = T(std::ilogb(x));
  out[i++] = T(std::lround(y));
  out[i++] = std::abs(x);
  out[i++] = T(std::abs(-3) + std::abs(-4L) + std::abs(-5LL));
  out[i++] = T(std::isnan(x) + 2 * std::isinf(x) + 4 * std::isfinite(x) + 8 * std::signbit(x));
  out[i++] = std::min(x, y);
  out[i++] = std::max(x, y);
  return i;
}

template <class T>
__host__ __device__ std::size_t fill_own(T *out, T x, T y) {
  std::size_t i = 0;
#define X(f) out[i++] = offloadc::f(x);
  UNARY(X)
#undef X
#define X(f) out[i++] = offloadc::f(x, y);
  BINARY(X)
#undef X
  int e = 0;
  T whole = 0;
  out[i++] = offloadc::fma(x, y, T(1));
  out[i++] = offloadc::ldexp(x, 3);
  out[i++] = offloadc::scalbn(x, -2);
  out[i++] = offloadc::frexp(x, &e);
  out[i++] = T(e);
  out[i++] = offloadc::modf(x, &whole);
  out[i++] = whole;
  out[i++] = T(offloadc::ilogb(x));
  out[i++] = T(offloadc::lround(y));
  out[i++] = offloadc::abs(x);
  out[i++] = T(offloadc::abs(-3) + offloadc::abs(-4L) + offloadc::abs(-5LL));
  out[i++] = T(offloadc::isnan(x) + 2 * offloadc::isinf(x) + 4 * offloadc::isfinite(x) + 8 * offloadc::signbit(x));
  out[i++] = offloadc::min(x, y);
  out[i++] = offloadc::max(x, y);
  return i;
}

// C's names: sin and sinf are one function each there.
__host__ __device__ inline std::size_t fill_global(double *out, double x, double y) {
  std::size_t i = 0;
#define X(f) out[i++] = ::f(x);
  UNARY(X)
#undef X
#define X(f) out[i++] = ::f(x, y);
  BINARY(X)
#undef X
  return i;
}
__host__ __device__ inline std::size_t fill_global(float *out, float x, float y) {
  std::size_t i = 0;
#define X(name) out[i++] = ::name##f(x);
  UNARY(X)
#undef X
#define X(name) out[i++] = ::name##f(x, y);
  BINARY(X)
#undef X
  return i;
}

constexpr std::size_t row = 64;

template <class T>
__global__ void fill(T *out, const T *x, const T *y) {
  const unsigned i = blockIdx.x;
  T *mine = out + i * 3 * row;
  fill_std(mine, x[i], y[i]);
  fill_own(mine + row, x[i], y[i]);
  fill_global(mine + 2 * row, x[i], y[i]);
}

// Integer arguments are doubles, as in the standard library.
__global__ void integers(double *out, int n, float f) {
  out[0] = std::sin(n) + std::sqrt(n) + std::exp(n) + std::cbrt(n);
  out[1] = std::pow(f, n);
  out[2] = std::pow(n, n) + std::hypot(n, 4) + std::atan2(n, 2.5f);
  out[3] = sin(n) + pow(n, 2) + sqrt(n);
  out[4] = sizeof(std::sin(n)) + sizeof(std::pow(f, n)) + sizeof(std::sin(f)) + sizeof(std::pow(f, f));
  out[5] = offloadc::rsqrt(static_cast<double>(n)) + rsqrtf(16.0f) + rsqrt(4.0);
  out[6] = min(n, 2) + max(n, 7) + min(1.5, 2.5) + max(f, 9.0f) + abs(-n);
}

template <class T>
static void compare(double tolerance) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x = {T(0.3), T(-0.7), T(1.5), T(2.5), T(-3.25), T(0), T(20), T(100.125), inf, -inf, nan, T(1)};
  const std::vector<T> y = {T(0.6), T(2), T(-0.5), T(3), T(2.5), T(1), T(0.1), T(7), T(1), T(2), T(1), T(1)};
  offloadc::buffer<T> out(x.size() * 3 * row);
  out.fill(0);
  offloadc::launch(fill<T>, x.size(), 1, out, offloadc::buffer<T>(x), offloadc::buffer<T>(y));
  const auto got = out.to_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    T expected[3 * row] = {};
    const std::size_t counts[] = {fill_std(expected, x[i], y[i]), fill_own(expected + row, x[i], y[i]),
                                  fill_global(expected + 2 * row, x[i], y[i])};
    for (std::size_t form = 0; form < 3; ++form) {
      EXPECT(counts[form] > 40 && counts[form] <= row);
      for (std::size_t f = 0; f < counts[form]; ++f) {
        const double a = got[(i * 3 + form) * row + f], b = expected[form * row + f];
        if (near(a, b, tolerance)) continue;
        // What an implementation may choose: a NaN or an infinite argument's exponent as an integer,
        // frexp's exponent of those, and min and max of a NaN.
        if (!std::isfinite(x[i]) && f >= 47) continue;
        // A polynomial's error is bounded by the largest term, not by a result near zero.
        if (std::fabs(a - b) < tolerance / 4) continue;
        std::printf("form %zu, function %zu of (%g, %g): %.17g, libm %.17g\n", form, f, double(x[i]), double(y[i]), a, b);
        std::exit(1);
      }
    }
  }
}

int main() {
  compare<float>(2e-6);
  compare<double>(4e-15);

  offloadc::buffer<double> out(7);
  offloadc::launch(integers, 1, 1, out, 3, 2.0f);
  const auto v = out.to_vector();
  EXPECT(near(v[0], std::sin(3.0) + std::sqrt(3.0) + std::exp(3.0) + std::cbrt(3.0), 1e-14));
  EXPECT(near(v[1], 8, 1e-14) && near(v[2], 27 + 5 + std::atan2(3.0, 2.5), 1e-14));
  EXPECT(near(v[3], std::sin(3.0) + 9 + std::sqrt(3.0), 1e-14) && v[4] == 8 + 8 + 4 + 4);
  EXPECT(near(v[5], 1 / std::sqrt(3.0) + 0.25 + 0.5, 1e-6) && v[6] == 2 + 7 + 1.5 + 9 + 3);
  return passed();
}
